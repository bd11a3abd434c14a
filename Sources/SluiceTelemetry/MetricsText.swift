// SPDX-License-Identifier: Apache-2.0

/// Builds text in the Prometheus exposition format.
struct MetricsText {
    private(set) var bytes: [UInt8] = []

    mutating func header(_ name: String, kind: String, help: String) {
        bytes += "# HELP \(name) ".utf8
        for byte in help.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes += #"\\"#.utf8
            case UInt8(ascii: "\n"): bytes += #"\n"#.utf8
            default: bytes.append(byte)
            }
        }
        bytes += "\n# TYPE \(name) \(kind)\n".utf8
    }

    mutating func sample(_ name: String, _ labels: [String], _ values: [String], _ value: Double) {
        bytes += name.utf8
        append(labels: zip(labels, values).map { ($0, $1) })
        bytes += " \(Self.number(value))\n".utf8
    }

    mutating func histogram(_ name: String, _ labels: [String], _ values: [String], _ histogram: Histogram) {
        let (counts, sum) = histogram.snapshot
        let pairs = zip(labels, values).map { ($0, $1) }
        var total = 0
        for (bound, count) in zip(histogram.bounds + [.infinity], counts) {
            total += count
            bytes += "\(name)_bucket".utf8
            append(labels: pairs + [("le", Self.number(bound))])
            bytes += " \(total)\n".utf8
        }
        sample("\(name)_sum", labels, values, sum)
        sample("\(name)_count", labels, values, Double(total))
    }

    private mutating func append(labels: [(String, String)]) {
        guard !labels.isEmpty else { return }
        var separator = "{"
        for (label, value) in labels {
            bytes += "\(separator)\(label)=\"".utf8
            for byte in value.utf8 {
                switch byte {
                case UInt8(ascii: "\\"): bytes += #"\\"#.utf8
                case UInt8(ascii: "\""): bytes += #"\""#.utf8
                case UInt8(ascii: "\n"): bytes += #"\n"#.utf8
                default: bytes.append(byte)
                }
            }
            bytes.append(UInt8(ascii: "\""))
            separator = ","
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// A value as Prometheus writes it: whole numbers without a point, `+Inf`, `NaN`.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int(exactly: value), abs(whole) < 1 << 53 { return String(whole) }
        return String(value)
    }
}
