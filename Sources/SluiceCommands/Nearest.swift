// SPDX-License-Identifier: Apache-2.0

/// Finds what somebody who mistyped a name may have meant.
enum Nearest {
    /// The candidate with the fewest typing mistakes, if those are few for the length of `name`.
    static func name(to name: String, among candidates: [String]) -> String? {
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(Array(name.utf8), Array(candidate.utf8))
            if distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        guard let best, best.distance <= max(1, name.utf8.count / 3) else { return nil }
        return best.candidate
    }

    /// Bytes inserted, left out, replaced or swapped with their neighbour (optimal string alignment).
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        var rows = [Array(0...right.count)]
        for i in 1...left.count {
            var row = [i] + [Int](repeating: 0, count: right.count)
            for j in 1...right.count {
                let replaced = rows[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1)
                row[j] = min(rows[i - 1][j] + 1, row[j - 1] + 1, replaced)
                if i > 1, j > 1, left[i - 1] == right[j - 2], left[i - 2] == right[j - 1] {
                    row[j] = min(row[j], rows[i - 2][j - 2] + 1)
                }
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
