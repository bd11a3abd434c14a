// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceSpool

/// What one way through quarantine came to, for the person who asked for it.
struct QuarantineTally {
    private static let maximumGroups = 1000
    private static let shownGroups = 50

    fileprivate struct Counts {
        var taken = 0
        var failing = 0
    }

    private var groups: [QuarantineKey: Counts] = [:]
    /// Records of groups beyond the most that are told apart.
    private var others = Counts()
    private(set) var reasons: [String: Int] = [:]
    private(set) var losses: [String: Int] = [:]

    mutating func add(_ item: QuarantineItem, _ decision: QuarantineEditor.Decision) {
        guard decision != .leave else { return }
        let isTaken = decision == .take
        let key = QuarantineKey(item)
        if groups[key] != nil || groups.count < Self.maximumGroups {
            groups[key, default: Counts()].add(item.records, isTaken: isTaken)
        } else {
            others.add(item.records, isTaken: isTaken)
        }
    }

    /// Notes why records stay.
    mutating func noteReason(_ text: String, _ records: Int = 1) {
        Self.note(text, records, in: &reasons, else: "for other reasons")
    }

    /// Notes what records go back without.
    mutating func noteLoss(_ text: String) {
        Self.note(text, 1, in: &losses, else: "without others that the contract removes")
    }

    private static func note(_ text: String, _ records: Int, in counts: inout [String: Int], else other: String) {
        // The details come from events, and nobody knows how many different ones there are.
        let key = counts.count < 50 || counts[text] != nil ? text : other
        counts[key, default: 0] += records
    }

    /// A line for each group of records that go, then why others stay and what is lost.
    ///
    /// * `verb`: such as `put back`.
    func lines(_ verb: String) -> [String] {
        let taken = sorted.filter { $0.counts.taken > 0 }
        var lines = taken.prefix(Self.shownGroups).map { "  \($0.counts.taken) \(verb): \($0.key.text)" }
        let rest = taken.dropFirst(Self.shownGroups).reduce(others.taken) { $0 + $1.counts.taken }
        if rest > 0 { lines.append("  \(rest) \(verb): others") }
        return lines + (Self.sorted(reasons) + Self.sorted(losses)).map { "  \($0.count) \($0.text)" }
    }

    var members: [(name: String, value: JSONLine.Value)] {
        func list(_ counts: [String: Int]) -> JSONLine.Value {
            .list(Self.sorted(counts).map { .object([("records", .integer($0.count)), ("text", .string($0.text))]) })
        }
        let groups = sorted.map { key, counts in
            JSONLine.Value.object(
                key.members + [("taken", .integer(counts.taken)), ("fails_again", .integer(counts.failing))]
            )
        }
        return [("groups", .list(groups)), ("stay_because", list(reasons)), ("lose", list(losses))]
    }

    private var sorted: [(key: QuarantineKey, counts: Counts)] {
        groups.map { (key: $0.key, counts: $0.value) }.sorted { left, right in
            left.counts.taken != right.counts.taken
                ? left.counts.taken > right.counts.taken : QuarantineKey.precedes(left.key, right.key)
        }
    }

    private static func sorted(_ counts: [String: Int]) -> [(text: String, count: Int)] {
        counts.map { (text: $0.key, count: $0.value) }.sorted {
            $0.count != $1.count ? $0.count > $1.count : $0.text < $1.text
        }
    }
}

extension QuarantineTally.Counts {
    fileprivate mutating func add(_ records: Int, isTaken: Bool) {
        if isTaken { taken += records } else { failing += records }
    }
}
