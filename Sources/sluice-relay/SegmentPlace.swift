// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// A segment file of a spool and the folder it was found in.
struct SegmentPlace {
    enum Folder: String {
        case incoming
        case ready
        case claimed
        case quarantine
    }

    var segment: SegmentName
    var folder: Folder
    var path: String

    /// All segments of a spool, oldest first, quarantine files last.
    static func all(in spool: SpoolFolder) throws -> [SegmentPlace] {
        let listing = try SpoolListing(of: spool)
        let pending = listing.entries.map { segment, entry in
            SegmentPlace(
                segment: segment,
                folder: folder(entry.place),
                path: listing.path(of: segment, at: entry.place, in: spool)
            )
        }
        return pending.sorted { $0.segment < $1.segment } + (try quarantine(in: spool))
    }

    /// The quarantine files of a spool, oldest first.
    static func quarantine(in spool: SpoolFolder) throws -> [SegmentPlace] {
        try FileSystem.names(in: spool.quarantine).compactMap { name in
            SegmentName(sealedFileName: name).map {
                SegmentPlace(segment: $0, folder: .quarantine, path: spool.quarantine($0))
            }
        }
    }

    /// Finds what a person named: a segment with or without its suffix, or the path of a file.
    static func path(named word: String, in spool: () throws -> SpoolFolder) throws -> String {
        guard !word.contains("/") else { return word }
        guard
            let segment = SegmentName(parsing: word) ?? SegmentName(sealedFileName: word)
                ?? SegmentName(openFileName: word)
        else {
            if (try? FileStatus(of: word)) != nil { return word }  // not there: said below
            throw CommandError(.usage, "\(word) is neither the name of a segment nor the path of a file")
        }
        guard let place = try all(in: try spool()).last(where: { $0.segment == segment }) else {
            throw CommandError(
                .badData,
                "there is no segment \(segment) in the spool; it may be finished, see: sluice-relay status"
            )
        }
        return place.path
    }

    private static func folder(_ place: SpoolListing.Place) -> Folder {
        switch place {
        case .incoming: .incoming
        case .ready: .ready
        case .claimed: .claimed
        }
    }
}
