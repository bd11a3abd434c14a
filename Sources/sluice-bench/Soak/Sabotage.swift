// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem

/// What no program and no disk would do, so that the observer can be seen to see it.
enum Sabotage: String, Sendable {
    /// A sealed segment vanishes.
    case lose
    /// A record changes and everything around it verifies.
    case alter

    /// - Returns: false when there is no segment to do it to.
    func happen(in spool: SpoolFolder) throws -> Bool {
        for name in try FileSystem.names(in: spool.ready) {
            guard let segment = SegmentName(sealedFileName: name) else { continue }
            // Out of everybody's reach; a relay may be faster.
            let hidden = "\(spool.ready)/\(Self.hiddenName(segment))"
            guard (try? FileSystem.move(spool.ready(segment), to: hidden)) != nil else { continue }
            if self == .alter { try alter(hidden, segment, in: spool) }
            try FileSystem.remove(hidden)
            return true
        }
        return false
    }

    private func alter(_ path: String, _ segment: SegmentName, in spool: SpoolFolder) throws {
        let reader = try SegmentReader(opening: path)
        let copy = try SegmentFile(
            creating: segment,
            in: spool.ready,
            as: "\(Self.hiddenName(segment))-altered",
            createdAt: SystemClock.system.wallSeconds
        )
        var buffer = ByteBuffer()
        var isAltered = false
        while case .frame = try reader.next(into: &buffer) {
            if !isAltered, let place = buffer.bytes.firstOffset(of: Self.victim) {
                Self.substitute.withUnsafeBytes { buffer.replace(at: place, with: $0) }
                isAltered = true
            }
            let records = Lines(buffer.bytes).reduce(0) { count, _ in count + 1 }
            let now = SystemClock.system.wallSeconds
            try copy.append(buffer.bytes, records: records, receivedAt: now...now)
        }
        try copy.finish()
        try FileSystem.move("\(spool.ready)/\(Self.hiddenName(segment))-altered", to: spool.ready(segment))
    }

    private static func hiddenName(_ segment: SegmentName) -> String { SegmentName.newPrefix + segment.sealedFileName }

    private static let victim = Array("\"app_version\":\"4.8.0\"".utf8)
    private static let substitute = Array("\"app_version\":\"4.8.1\"".utf8)
}
