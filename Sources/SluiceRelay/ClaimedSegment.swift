// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool

/// A segment that this relay holds: what is still to be read of it, and what became of its records.
final class ClaimedSegment {
    let name: SegmentName
    /// Place in the relay's table of claims.
    let slot: Int32
    let progress: Progress
    /// Whether an earlier run has resolved some of its records.
    let wasBegun: Bool
    /// Records that are read and whose outcome is open.
    var unresolved = 0
    var isRead = false
    /// Unresolved records whose lines can't be read again.
    var stranded = 0
    /// It is in the list of segments with something to write down.
    var isTouched = false
    var isFinishing = false
    /// Whether it ends with its writer's own count.
    var hasFooter = false
    /// What could not be read.
    var damage = SegmentDamage()
    var tornTails = 0
    /// Outcomes of all records, earlier runs' included.
    var counts = OutcomeCounts()
    /// Records that were read here and had their outcome from an earlier run, as its progress says.
    private(set) var met = OutcomeCounts()
    /// Records that were read here and are in quarantine from an earlier run, which did not come to note so.
    var metInQuarantine = 0
    private var isUnreadCounted = false
    /// Outcomes that are not in the progress file yet.
    var unsaved: [ProgressEntry] = []
    /// The state of the list of erased persons when it was claimed.
    var erasureGeneration = 0
    /// Entries for the quarantine, opened with the first bad record.
    var quarantine: QuarantineWriter?

    init(name: SegmentName, slot: Int32, progress: Progress) {
        self.name = name
        self.slot = slot
        self.progress = progress
        wasBegun = !progress.resolved.isEmpty
    }

    var isDone: Bool { isRead && unresolved == 0 }
    /// Nothing more will come of it here.
    var isStranded: Bool { isRead && stranded > 0 && unresolved == stranded }

    /// Counts a record that an earlier run has resolved.
    func meet(_ outcome: Outcome) {
        counts[outcome] += 1
        met[outcome] += 1
    }

    /// What earlier runs have resolved, by place: as noted, and as it is in quarantine.
    var resolvedEarlier: ResolvedRecords {
        var resolved = progress.resolved
        for origin in quarantine?.earlierRecords ?? [] where origin.segment == name {
            resolved.insert(ProgressEntry(frame: origin.frame, first: origin.index, count: 1, outcome: .quarantined))
        }
        return resolved
    }

    /// At the end of reading: counts the records that earlier runs have resolved and that can no longer be read.
    ///
    /// They had their outcome while their bytes were whole; nothing of them is lost.
    func countUnread() {
        if isUnreadCounted { return }
        isUnreadCounted = true
        for outcome in Outcome.allCases {
            var unread = progress.resolved.counts[outcome] - met[outcome]
            if outcome == .quarantined, let quarantine {
                unread = max(unread, quarantine.earlierRecords.count - met.quarantined - metInQuarantine)
            }
            counts[outcome] += max(0, unread)
        }
    }

    /// Notes the outcome of neighbouring records, as one run with those before where that is possible.
    func note(_ outcome: Outcome, frameOffset: Int, index: Int, count: Int) {
        counts[outcome] += count
        unresolved -= count
        if let last = unsaved.indices.last, unsaved[last].outcome == outcome,
            unsaved[last].frame == frameOffset, unsaved[last].first + unsaved[last].count == index
        {
            unsaved[last].count += count
        } else {
            unsaved.append(ProgressEntry(frame: frameOffset, first: index, count: count, outcome: outcome))
        }
    }
}
