// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// The segments of a spool and where they are, in one pass over its folders.
///
/// The folders are read in the order in which segments move, so one that moves on meanwhile is found in either place or
/// in both, never in none; one that moves back may be missed.
package struct SpoolListing: Sendable {
    package enum Place: Hashable, Sendable {
        case incoming, ready
        /// By the index of the worker in `workers`.
        case claimed(worker: Int)
    }

    package struct Entry: Sendable {
        package var place: Place
        /// The file's length.
        package var bytes: Int
    }

    /// Where each segment was found last.
    package private(set) var entries: [SegmentName: Entry] = [:]
    package private(set) var workers: [String] = []
    /// Names that are left alone; the first thousand of them.
    package private(set) var ignored: [IgnoredFile] = []
    /// How many there are in all.
    package private(set) var ignoredCount = 0
    private static let ignoredLimit = 1000

    package init(of spool: SpoolFolder) throws(SystemError) {
        try add(spool.incoming, suffix: ".open", place: .incoming)
        try add(spool.ready, suffix: ".ndjson.lz4", place: .ready)
        for worker in try FileSystem.names(in: spool.claimed) {
            if worker.utf8.starts(with: SegmentName.newPrefix.utf8) { continue }
            do throws(SystemError) {
                let place = Place.claimed(worker: workers.count)
                try add("\(spool.claimed)/\(worker)", suffix: ".ndjson.lz4", place: place)
                workers.append(worker)
            } catch {
                if error.errno == ENOENT { continue }
                if error.errno == EACCES {
                    ignore("\(spool.claimed)/\(worker)", .unreadable)
                    continue
                }
                guard error.isNoFolder else { throw error }
                let path = "\(spool.claimed)/\(worker)"
                ignore(path, (try? FileStatus(of: path))?.reasonToIgnore ?? .foreignName)  // gone: a stray name
            }
        }
    }

    private mutating func add(_ folder: String, suffix: StaticString, place: Place) throws(SystemError) {
        // The dictionary is moved out, so that it is not copied.
        var entries: [SegmentName: Entry] = [:]
        swap(&entries, &self.entries)
        defer { swap(&entries, &self.entries) }
        var left: [IgnoredFile] = []
        let isClaimed = if case .claimed = place { true } else { false }
        try FileSystem.forEachFile(in: folder) { name, status in
            if let segment = SegmentName(bytes: name, suffix: suffix) {
                if let reason = status.reasonToIgnore {
                    left.append(IgnoredFile(path: Self.path(folder, name), reason: reason))
                    // With two names it still holds what was sealed.
                    guard reason == .hardLink else { return }
                }
                entries[segment] = Entry(place: place, bytes: status.size)
            } else if !name.starts(with: SegmentName.newPrefix.utf8)
                && !(isClaimed && name.elementsEqual(WorkerLock.name.utf8))
            {
                left.append(IgnoredFile(path: Self.path(folder, name), reason: .foreignName))
            }
        }
        for file in left { ignore(file.path, file.reason) }
    }

    private static func path(_ folder: String, _ name: UnsafeRawBufferPointer) -> String {
        "\(folder)/\(String(decoding: name, as: UTF8.self))"
    }

    private mutating func ignore(_ path: String, _ reason: IgnoredFile.Reason) {
        ignoredCount += 1
        if ignored.count < Self.ignoredLimit { ignored.append(IgnoredFile(path: path, reason: reason)) }
    }

    package func path(of segment: SegmentName, at place: Place, in spool: SpoolFolder) -> String {
        switch place {
        case .incoming: spool.incoming(segment)
        case .ready: spool.ready(segment)
        case .claimed(let worker): spool.claimed(segment, by: workers[worker])
        }
    }
}
