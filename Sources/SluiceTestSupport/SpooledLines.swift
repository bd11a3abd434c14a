// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem

/// What is in a spool, read back as a relay would.
package enum SpooledLines {
    /// Records of all segments, sealed, claimed or still being written, in order of age.
    package static func all(in root: String) throws -> [String] {
        let spool = try SpoolFolder.open(root, create: false, role: .reader)
        var paths: [(name: SegmentName, path: String)] = []
        for (name, entry) in try SpoolListing(of: spool).entries {
            switch entry.place {
            case .incoming: paths.append((name, spool.incoming(name)))
            case .ready: paths.append((name, spool.ready(name)))
            case .claimed: continue
            }
        }
        return try paths.sorted { $0.name < $1.name }.flatMap { try lines(of: $0.path) }
    }

    private static func lines(of path: String) throws -> [String] {
        let reader = try SegmentReader(opening: path)
        var lines: [String] = []
        while true {
            var buffer = ByteBuffer()
            switch try reader.next(into: &buffer) {
            case .frame:
                lines += String(decoding: buffer.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
            case .damaged, .tornTail: continue
            case .end: return lines
            }
        }
    }

    /// The `event_id` of a record.
    package static func id(of line: String) -> String? {
        guard let start = line.firstRange(of: "\"event_id\":\"")?.upperBound else { return nil }
        return line[start...].firstIndex(of: "\"").map { String(line[start..<$0]) }
    }
}
