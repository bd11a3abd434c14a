// SPDX-License-Identifier: Apache-2.0

/// One figure of a benchmark: what each of its runs gave.
struct Figure {
    /// What it is to reach.
    enum Target: Equatable {
        case atLeast(Double)
        case atMost(Double)

        func isMet(by value: Double) -> Bool {
            switch self {
            case .atLeast(let bound): value >= bound
            case .atMost(let bound): value <= bound
            }
        }

        var text: String {
            switch self {
            case .atLeast(let bound): "≥ \(Figure.text(bound))"
            case .atMost(let bound): "≤ \(Figure.text(bound))"
            }
        }
    }

    /// The same everywhere, with its unit, such as `cpu_seconds_per_million`.
    let name: String
    var values: [Double]
    var target: Target?

    /// The figure by which a benchmark is compared with what the machine could do at best.
    static let ratioName = "ratio_to_floor"

    private var sorted: [Double] { values.sorted() }
    var lowest: Double { sorted.first ?? 0 }
    var highest: Double { sorted.last ?? 0 }
    var median: Double {
        let sorted = sorted
        return sorted.isEmpty ? 0 : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    /// What a table says of the target.
    var standing: String {
        guard let target else { return "" }
        return target.isMet(by: median) ? "met" : "missed"
    }

    /// As many digits as mean something.
    static func text(_ value: Double) -> String {
        let digits = abs(value) >= 1000 || value == value.rounded() ? 0 : abs(value) >= 100 ? 1 : 2
        if digits == 0 { return "\(Int(value.rounded()))" }
        let factor = digits == 1 ? 10.0 : 100.0
        return "\((value * factor).rounded() / factor)"
    }
}
