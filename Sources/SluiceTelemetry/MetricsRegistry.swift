// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// All metrics of a program, and their text as Prometheus reads it.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/
package final class MetricsRegistry: Sendable {
    /// The `Content-Type` of the text.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// A value that is looked up when somebody asks.
    package struct Sample: Sendable {
        package var labels: [String]
        package var value: Double

        package init(labels: [String] = [], value: Double) {
            self.labels = labels
            self.value = value
        }
    }

    package enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
    }

    private struct Entry: Sendable {
        var name: String
        var kind: Kind
        var help: String
        var emit: @Sendable (inout MetricsText) -> Void
    }

    private let entries = Lock<[Entry]>([])

    package init() {}

    /// Registers a counter without labels; the name ends in `_total`.
    package func counter(_ name: String, help: String) -> Counter {
        counters(name, help: help, labels: [])[]
    }

    /// Registers a counter with labels.
    package func counters(
        _ name: String,
        help: String,
        labels: [String],
        maximumSeries: Int = 200
    ) -> MetricFamily<Counter> {
        precondition(name.hasSuffix("_total"), "\(name): a counter's name ends in _total")
        let family = MetricFamily(labelNames: labels, maximumSeries: maximumSeries) { Counter() }
        register(name, .counter, help, labels: labels) { text in
            for (values, counter) in family.all { text.sample(name, labels, values, Double(counter.value)) }
        }
        return family
    }

    /// Registers a gauge without labels.
    package func gauge(_ name: String, help: String) -> Gauge {
        gauges(name, help: help, labels: [])[]
    }

    /// Registers a gauge with labels.
    package func gauges(
        _ name: String,
        help: String,
        labels: [String],
        maximumSeries: Int = 200
    ) -> MetricFamily<Gauge> {
        let family = MetricFamily(labelNames: labels, maximumSeries: maximumSeries) { Gauge() }
        register(name, .gauge, help, labels: labels) { text in
            for (values, gauge) in family.all { text.sample(name, labels, values, gauge.value) }
        }
        return family
    }

    /// Registers a histogram without labels; its name ends in its unit, `_seconds`.
    package func histogram(
        _ name: String,
        help: String,
        bounds: [Double] = Histogram.secondsBounds
    ) -> Histogram {
        histograms(name, help: help, labels: [], bounds: bounds)[]
    }

    /// Registers a histogram with labels.
    package func histograms(
        _ name: String,
        help: String,
        labels: [String],
        bounds: [Double] = Histogram.secondsBounds,
        maximumSeries: Int = 50
    ) -> MetricFamily<Histogram> {
        let family = MetricFamily(labelNames: labels, maximumSeries: maximumSeries) { Histogram(bounds: bounds) }
        register(name, .histogram, help, labels: labels) { text in
            for (values, histogram) in family.all { text.histogram(name, labels, values, histogram) }
        }
        return family
    }

    /// Registers values that are looked up whenever the text is made, such as the depth of the spool.
    package func observe(
        _ name: String,
        _ kind: Kind = .gauge,
        help: String,
        labels: [String] = [],
        samples: @escaping @Sendable () -> [Sample]
    ) {
        precondition(kind != .histogram, "\(name): a histogram records its own values")
        precondition(kind != .counter || name.hasSuffix("_total"), "\(name): a counter's name ends in _total")
        register(name, kind, help, labels: labels) { text in
            for sample in samples() { text.sample(name, labels, sample.labels, sample.value) }
        }
    }

    /// Registers one value that is looked up whenever the text is made.
    package func observe(_ name: String, help: String, value: @escaping @Sendable () -> Double) {
        observe(name, .gauge, help: help) { [Sample(value: value())] }
    }

    /// Appends the text of all metrics, in order of their names.
    package func emit(into buffer: inout [UInt8]) {
        var text = MetricsText()
        for entry in entries.withLock({ $0 }) {
            text.header(entry.name, kind: entry.kind.rawValue, help: entry.help)
            entry.emit(&text)
        }
        buffer += text.bytes
    }

    /// The text of all metrics.
    package func text() -> String {
        var buffer: [UInt8] = []
        emit(into: &buffer)
        return String(decoding: buffer, as: UTF8.self)
    }

    private func register(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        labels: [String],
        emit: @escaping @Sendable (inout MetricsText) -> Void
    ) {
        for word in [name] + labels { precondition(Self.isName(word), "\(word) is no name for a metric or a label") }
        precondition(!labels.contains("le"), "\(name): the label le belongs to histograms")
        entries.withLock { entries in
            precondition(!entries.contains { $0.name == name }, "\(name) is registered twice")
            entries.append(Entry(name: name, kind: kind, help: help, emit: emit))
            entries.sort { $0.name < $1.name }
        }
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, first < UInt8(ascii: "0") || first > UInt8(ascii: "9") else { return false }
        return text.utf8.allSatisfy {
            ($0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z"))
                || ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")) || $0 == UInt8(ascii: "_")
        }
    }
}
