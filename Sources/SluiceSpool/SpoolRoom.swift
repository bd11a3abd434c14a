// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// Whether a writer may still take records: room on the filesystem, and the spool's own limit.
///
/// The limit counts disk blocks of `incoming/`, `ready/`, `claimed/` and `progress/`; quarantine has a cap of its own.
/// Free space is asked at most every 100 ms. The folders are walked at most every second, less often when that takes
/// long; in between the room counts what was written since, and what relays removed is seen by the next walk.
package struct SpoolRoom: Sendable {
    private let root: String
    private let minimumFreeBytes: Int
    private let maximumSpoolBytes: Int?
    private var askedAt: Int64 = .min
    private var freeBytes = Int.max
    private var walkedAt: Int64 = .min
    private var walkInterval: Int64 = 1_000_000_000
    private var usedBytes = 0

    package init(root: String, options: SegmentWriterOptions) {
        self.root = root
        minimumFreeBytes = options.minimumFreeBytes
        maximumSpoolBytes = options.maximumSpoolBytes
    }

    /// Throws `outOfSpace` when to write `bytes` more would break a limit.
    package mutating func check(adding bytes: Int, clock: SystemClock) throws(SpoolError) {
        let now = clock.monotonicNanoseconds()
        if minimumFreeBytes > 0 { try checkFree(bytes, now) }
        guard let maximumSpoolBytes else { return }
        let isOld = walkedAt == .min || now - walkedAt >= walkInterval
        let isTight = usedBytes + bytes > maximumSpoolBytes && now - walkedAt >= 100_000_000
        if isOld || isTight { try walk(now, clock) }
        guard usedBytes + bytes <= maximumSpoolBytes else {
            throw SpoolError(
                .outOfSpace,
                path: root,
                detail: "the spool takes \(usedBytes) bytes on disk, its limit is \(maximumSpoolBytes)"
            )
        }
    }

    /// Notes what was written since the last look.
    mutating func wrote(_ bytes: Int) {
        usedBytes += bytes
        freeBytes -= bytes
    }

    private mutating func checkFree(_ bytes: Int, _ now: Int64) throws(SpoolError) {
        if askedAt == .min || now - askedAt >= 100_000_000 {
            freeBytes = try spoolCall { () throws(SystemError) in try FileSystem.freeBytes(at: root) }
            askedAt = now
        }
        guard freeBytes - bytes >= minimumFreeBytes else {
            throw SpoolError(
                .outOfSpace,
                path: root,
                detail: "only \(max(0, freeBytes)) bytes are free, \(minimumFreeBytes) must stay free"
            )
        }
    }

    private mutating func walk(_ now: Int64, _ clock: SystemClock) throws(SpoolError) {
        usedBytes = try Self.usedBytes(at: root)
        walkedAt = now
        walkInterval = max(1_000_000_000, 50 * (clock.monotonicNanoseconds() - now))
    }

    /// Disk that counts towards the spool's limit.
    package static func usedBytes(at root: String) throws(SpoolError) -> Int {
        try spoolCall { () throws(SystemError) in
            var sum = 0
            for folder in ["incoming", "ready", "progress"] { sum += try allocated("\(root)/\(folder)") }
            let claimed = "\(root)/claimed"
            for worker in try FileSystem.names(in: claimed) { sum += try allocated("\(claimed)/\(worker)") }
            return sum
        }
    }

    /// Disk that the files of a folder take; what goes away meanwhile takes none.
    private static func allocated(_ folder: String) throws(SystemError) -> Int {
        do throws(SystemError) {
            return try FileSystem.allocatedBytes(in: folder)
        } catch {
            // Not there yet, or a worker's folder that was just removed, or no folder at all.
            if error.isNoFolder { return 0 }
            throw error
        }
    }
}
