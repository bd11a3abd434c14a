// SPDX-License-Identifier: Apache-2.0
import SluiceSpool

extension StatusPage {
    /// The last hour as two lines in a drawing of its own, with its figures in a table for those who do not see it.
    static func chart(_ minutes: [Throughput.Interval]) -> String {
        let (width, height) = (600.0, 140.0)
        // The minute that has just begun would always look like a fall.
        let whole = minutes.dropLast()
        let highest = whole.map { max($0.accepted, $0.delivered) }.max() ?? 0
        let top = ceiling(Double(highest) / 60)
        func points(_ value: (Throughput.Interval) -> Int) -> String {
            whole.enumerated().map { index, minute in
                let x = width * Double(index) / Double(max(1, whole.count - 1))
                let y = height - height * (Double(value(minute)) / 60) / top
                return "\(tenths(x)),\(tenths(y))"
            }.joined(separator: " ")
        }
        let accepted = whole.reduce(0) { $0 + $1.accepted }
        let delivered = whole.reduce(0) { $0 + $1.delivered }
        let summary =
            "In the last hour \(grouped(accepted)) records were accepted and \(grouped(delivered)) delivered; "
            + "at most \(rate(Double(highest) / 60)) a second."
        let rows = stride(from: 0, to: whole.count, by: 5).map { start in
            let part = whole[start..<min(start + 5, whole.count)]
            let sums = part.reduce(into: (0, 0)) { sums, minute in
                sums.0 += minute.accepted
                sums.1 += minute.delivered
            }
            return
                "<tr><th scope=\"row\">\(whole.count - start)</th><td>\(grouped(sums.0))</td><td>\(grouped(sums.1))</td></tr>"
        }
        return """
            <figure>
            <svg class="chart" viewBox="-4 -8 608 156" role="img" aria-label="\(summary)" preserveAspectRatio="none">
            <path class="grid" d="M0 0H600M0 70H600M0 140H600"/>
            <polyline class="in" points="\(points(\.accepted))"/>
            <polyline class="out" points="\(points(\.delivered))"/>
            </svg>
            <figcaption><span>an hour ago</span><span>top line: \(rate(top))/s</span><span>now</span></figcaption>
            </figure>
            <details><summary>Figures of the chart</summary>
            <table><thead><tr><th scope="col">minutes ago</th><th scope="col">accepted</th><th scope="col">delivered</th></tr></thead>
            <tbody>\(rows.joined(separator: "\n"))</tbody></table>
            </details>
            """
    }

    /// The next round number: 1, 2 or 5 times a power of ten.
    private static func ceiling(_ value: Double) -> Double {
        var unit = 1.0
        while true {
            for factor in [1.0, 2, 5] where value <= factor * unit { return factor * unit }
            unit *= 10
        }
    }

    private static func tenths(_ value: Double) -> String {
        let number = Int((value * 10).rounded())
        return number % 10 == 0 ? "\(number / 10)" : "\(number / 10).\(number % 10)"
    }
}
