// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// The names in `ready/`, oldest first, read once for many claims.
///
/// A listing of 100,000 names takes a tenth of a second and 2.4 MB; it is used up before the next is made, but not
/// longer than `maximumAge`, so that segments which came back are not overlooked.
struct ReadyQueue: Sendable {
    static let maximumAge: Int64 = 10_000_000_000

    private let folder: String
    /// Newest first: the next one is the last.
    private var names: [SegmentName] = []
    private var listedAt: Int64 = .min
    /// Names that are not taken before that moment, so that the queue can be empty although the folder is not.
    private var skipped: [SegmentName: Int64] = [:]

    init(folder: String) { self.folder = folder }

    /// Names in the listing that nobody has asked for.
    var count: Int { names.count }

    /// The oldest name that is left.
    mutating func next(at now: Int64, ignored: inout IgnoredFiles) throws(SystemError) -> SegmentName? {
        if names.isEmpty || now - listedAt > Self.maximumAge { try list(at: now, ignored: &ignored) }
        return names.popLast()
    }

    /// Leaves `name` out of listings, for good or until that moment.
    mutating func skip(_ name: SegmentName, until moment: Int64 = .max) { skipped[name] = moment }

    /// Takes a name that `next` gave back into the listing.
    mutating func giveBack(_ name: SegmentName) { names.append(name) }

    /// Makes the next call look at the folder again.
    mutating func forget() { names.removeAll() }

    private mutating func list(at now: Int64, ignored: inout IgnoredFiles) throws(SystemError) {
        var found: [SegmentName] = []
        let (folder, skipped) = (folder, skipped)
        try FileSystem.forEachName(in: folder) { name in
            if let segment = SegmentName(bytes: name, suffix: ".ndjson.lz4") {
                if skipped[segment].map({ $0 <= now }) ?? true { found.append(segment) }
            } else if !name.starts(with: SegmentName.newPrefix.utf8) {
                ignored.note(name, in: folder, reason: .foreignName)
            }
        }
        found.sort(by: >)
        names = found
        listedAt = now
    }
}
