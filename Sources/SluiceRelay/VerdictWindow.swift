// SPDX-License-Identifier: Apache-2.0

/// The last verdicts of the destination on single records: taken, or refused for good.
struct VerdictWindow {
    private var taken: [Bool]
    private var next = 0
    private(set) var count = 0
    private(set) var takenCount = 0

    init(size: Int) { taken = [Bool](repeating: false, count: max(size, 1)) }

    mutating func add(taken isTaken: Bool, times: Int = 1) {
        for _ in 0..<min(times, taken.count) {
            if count == taken.count {
                if taken[next] { takenCount -= 1 }
            } else {
                count += 1
            }
            taken[next] = isTaken
            if isTaken { takenCount += 1 }
            next = next + 1 == taken.count ? 0 : next + 1
        }
    }

    mutating func removeAll() { (next, count, takenCount) = (0, 0, 0) }

    /// At least 50 verdicts are in and fewer than 5 % are deliveries: then the fault is not in the records.
    var isMassRejection: Bool { count >= min(50, taken.count) && takenCount * 20 < count }

    /// Most of the verdicts are deliveries again.
    var isHealthy: Bool { takenCount * 2 > count }
}
