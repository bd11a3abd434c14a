// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool

/// A segment that this relay holds: what is still to be read of it, and what became of its records.
final class ClaimedSegment {
    let name: SegmentName
    /// Place in the relay's table of claims.
    let slot: Int32
    let progress: Progress
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
    }

    var isDone: Bool { isRead && unresolved == 0 }
    /// Nothing more will come of it here.
    var isStranded: Bool { isRead && stranded > 0 && unresolved == stranded }

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
