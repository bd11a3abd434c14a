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
        case claimed(worker: String)
    }

    /// The last place where each segment was found.
    package private(set) var places: [SegmentName: Place] = [:]
    /// Names in `incoming/`, `ready/` and `claimed/` that are no segments'.
    package private(set) var foreign: [String] = []
    private static let foreignLimit = 1000
    /// How many there are, told by name or not.
    package private(set) var foreignCount = 0

    package init(of spool: SpoolFolder) throws(SystemError) {
        try add(spool.incoming, suffix: ".open", place: .incoming)
        try add(spool.ready, suffix: ".ndjson.lz4", place: .ready)
        for worker in try FileSystem.names(in: spool.claimed) {
            if worker.utf8.starts(with: SegmentName.newPrefix.utf8) { continue }
            do throws(SystemError) {
                try add("\(spool.claimed)/\(worker)", suffix: ".ndjson.lz4", place: .claimed(worker: worker))
            } catch {
                if error.errno == ENOENT { continue }
                guard error.errno == ENOTDIR || error.errno == ELOOP else { throw error }
                noteForeign("\(spool.claimed)/\(worker)")
            }
        }
    }

    private mutating func add(_ folder: String, suffix: StaticString, place: Place) throws(SystemError) {
        var found = (places: places, foreign: [String]())
        let isClaimed = if case .claimed = place { true } else { false }
        places = [:]
        defer {
            places = found.places
            for path in found.foreign { noteForeign(path) }
        }
        try FileSystem.forEachName(in: folder) { name, _ in
            if let segment = SegmentName(bytes: name, suffix: suffix) {
                found.places[segment] = place
            } else if !name.starts(with: SegmentName.newPrefix.utf8)
                && !(isClaimed && name.elementsEqual(WorkerLock.name.utf8))
            {
                found.foreign.append("\(folder)/\(String(decoding: name, as: UTF8.self))")
            }
        }
    }

    private mutating func noteForeign(_ path: String) {
        foreignCount += 1
        if foreign.count < Self.foreignLimit { foreign.append(path) }
    }

    package static func path(of segment: SegmentName, at place: Place, in spool: SpoolFolder) -> String {
        switch place {
        case .incoming: spool.incoming(segment)
        case .ready: spool.ready(segment)
        case .claimed(let worker): spool.claimed(segment, by: worker)
        }
    }
}
