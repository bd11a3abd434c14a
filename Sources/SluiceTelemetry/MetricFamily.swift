// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// Metrics of one name that differ by the values of their labels.
///
/// The number of series is bounded: values beyond it share one series whose labels all say `other`. Look a series up
/// once and keep it where the path is hot.
package final class MetricFamily<Metric: Sendable>: Sendable {
    private struct Series {
        var labels: [String]
        var metric: Metric
    }

    private struct State {
        var series: [Series] = []
        /// Position by the bytes of the values; a String key would fold values that only look alike.
        var positions: [[UInt8]: Int] = [:]
    }

    package let labelNames: [String]
    private let maximumSeries: Int
    private let make: @Sendable () -> Metric
    private let state = Lock(State())

    init(labelNames: [String], maximumSeries: Int, make: @escaping @Sendable () -> Metric) {
        self.labelNames = labelNames
        self.maximumSeries = maximumSeries
        self.make = make
    }

    /// The series with these label values, in the order of `labelNames`; made when it is new.
    package subscript(values: String...) -> Metric { series(values) }

    package func series(_ values: [String]) -> Metric {
        precondition(values.count == labelNames.count, "a value for each of the labels \(labelNames)")
        return state.withLock { state in
            let key = Self.key(values)
            if let position = state.positions[key] { return state.series[position].metric }
            var labels = values
            if state.series.count >= maximumSeries && !values.isEmpty {
                labels = labelNames.map { _ in "other" }
                if let position = state.positions[Self.key(labels)] { return state.series[position].metric }
            }
            let metric = make()
            state.positions[Self.key(labels)] = state.series.count
            state.series.append(Series(labels: labels, metric: metric))
            return metric
        }
    }

    /// All series in the order in which they appeared.
    package var all: [(labels: [String], metric: Metric)] {
        state.withLock { $0.series.map { ($0.labels, $0.metric) } }
    }

    private static func key(_ values: [String]) -> [UInt8] {
        values.flatMap { Array($0.utf8) + [0xFF] }
    }
}
