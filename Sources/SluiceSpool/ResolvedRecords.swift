// SPDX-License-Identifier: Apache-2.0

/// Which records of a segment are resolved, and how: runs sorted by place, without overlaps.
package struct ResolvedRecords: Hashable, Sendable {
    /// Records per outcome; `damaged` stays 0.
    package private(set) var counts = OutcomeCounts()
    /// Sorted by frame, then by first record.
    package private(set) var runs: [ProgressEntry] = []

    package init() {}

    /// Takes runs in the order they were written: what is resolved first stays.
    package init(_ entries: [ProgressEntry]) {
        let order = entries.indices.sorted { left, right in
            let (left, right) = (entries[left], entries[right])
            return (left.frame, left.first) < (right.frame, right.first)
        }
        runs.reserveCapacity(entries.count)
        var overlaps = false
        for index in order {
            let entry = entries[index]
            if let last = runs.last, last.frame == entry.frame {
                if last.first + last.count > entry.first {
                    overlaps = true
                    break
                }
                if last.first + last.count == entry.first && last.outcome == entry.outcome {
                    runs[runs.count - 1].count += entry.count
                    continue
                }
            }
            runs.append(entry)
        }
        if overlaps {
            runs.removeAll()
            for entry in entries { insert(entry) }
        } else {
            for run in runs { counts[run.outcome] += run.count }
        }
    }

    package var isEmpty: Bool { runs.isEmpty }

    /// Number of records that are resolved.
    package var count: Int { counts.total }

    /// What became of a record; nil when it is still to be sent.
    package func outcome(frame: Int, index: Int) -> Outcome? {
        let position = position(frame: frame, index: index)
        guard position < runs.count else { return nil }
        let run = runs[position]
        return run.frame == frame && run.first <= index ? run.outcome : nil
    }

    /// The runs of one frame, sorted.
    package func runs(inFrame frame: Int) -> ArraySlice<ProgressEntry> {
        let start = position(frame: frame, index: 0)
        var end = start
        while end < runs.count && runs[end].frame == frame { end += 1 }
        return runs[start..<end]
    }

    /// Number of records of the frames that begin in a range of the file.
    package func count(inBytes range: Range<Int>) -> Int {
        var index = position(frame: range.lowerBound, index: 0)
        var count = 0
        while index < runs.count, runs[index].frame < range.upperBound {
            count += runs[index].count
            index += 1
        }
        return count
    }

    /// Adds a run; the part of it that is resolved already stays as it is.
    package mutating func insert(_ entry: ProgressEntry) {
        var first = entry.first
        let end = entry.first + entry.count
        var position = position(frame: entry.frame, index: first)
        while first < end {
            var gapEnd = end
            if position < runs.count, runs[position].frame == entry.frame {
                gapEnd = min(end, max(first, runs[position].first))
            }
            if gapEnd > first {
                runs.insert(
                    ProgressEntry(frame: entry.frame, first: first, count: gapEnd - first, outcome: entry.outcome),
                    at: position
                )
                counts[entry.outcome] += gapEnd - first
                position += 1
            }
            guard gapEnd < end else { return }
            first = runs[position].first + runs[position].count
            position += 1
        }
    }

    /// Index of the first run that ends behind the record.
    private func position(frame: Int, index: Int) -> Int {
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            let run = runs[middle]
            if (run.frame, run.first + run.count) <= (frame, index) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
