// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

extension DuplicateWindow {
    /// Opens the window of a destination, and makes it when there is none or it belongs to another destination.
    ///
    /// * `capacity`: entries of a generation in a new file; 1 Mi of them take 64 MiB of disk.
    /// * `seed`: of a new file; whoever has lost the file gives the old one, so that the fingerprints it holds stay good.
    ///
    /// Throws `outOfSpace`, for example; the relay then works without a window.
    package static func open(
        in spool: SpoolFolder,
        destination: UInt64,
        capacity: Int = defaultCapacity,
        seed: UInt64 = .random(in: .min ... .max)
    ) throws(SpoolError) -> DuplicateWindow {
        try spoolCall { () throws(SystemError) in
            // Only one process at a time makes or replaces the file.
            let root = try File(opening: spool.root, O_RDONLY | O_DIRECTORY)
            try root.lock()
            defer { try? root.unlock() }  // closing would do it as well
            if let window = try openExisting(spool.duplicates, destination: destination, capacity: capacity) {
                return window
            }
            // What a crash left of others that were being made.
            try spool.removeHidden("duplicates")
            // Its room may be just what the new one needs.
            try FileSystem.removeIfPresent(spool.duplicates)
            return try make(in: spool, destination: destination, capacity: capacity, seed: seed)
        }
    }

    /// Opens the window as it is, whatever destination it is about, to look things up only.
    ///
    /// - Returns: nil when there is none that can be used.
    package static func openForReading(in spool: SpoolFolder) -> DuplicateWindow? {
        guard let file = try? File(opening: spool.duplicates, O_RDONLY),  // none, or not ours: nothing is known
            let status = try? file.status(), status.isRegularFile
        else { return nil }
        var header = ByteBuffer(capacity: DuplicateLayout.headerBytes)
        header.append(upTo: DuplicateLayout.headerBytes) { (try? file.read(into: $0, at: 0)) ?? 0 }
        guard let capacity = DuplicateLayout.capacity(inHeader: header.bytes), capacity > 0, capacity <= 1 << 32 else {
            return nil
        }
        let layout = DuplicateLayout(capacity: capacity)
        guard status.size == layout.fileBytes,
            let mapping = try? MappedFile(file, count: layout.fileBytes, isReadOnly: true)  // no memory
        else { return nil }
        return DuplicateWindow(file, mapping, layout: layout)
    }

    /// - Returns: nil when there is no file that can be used.
    private static func openExisting(
        _ path: String,
        destination: UInt64,
        capacity: Int
    ) throws(SystemError) -> DuplicateWindow? {
        guard let status = try? FileStatus(of: path), status.isRegularFile, status.links == 1 else { return nil }
        let file = try File(opening: path, O_RDWR)
        var header = ByteBuffer(capacity: DuplicateLayout.headerBytes)
        header.append(upTo: DuplicateLayout.headerBytes) { (try? file.read(into: $0, at: 0)) ?? 0 }
        let known = DuplicateLayout.capacity(inHeader: header.bytes, destination: destination)
        guard known == capacity else { return nil }
        let layout = DuplicateLayout(capacity: capacity)
        guard try file.status().size == layout.fileBytes else { return nil }
        // A copy may have become sparse.
        try file.reserve(from: 0, count: layout.fileBytes)
        return try map(file, layout)
    }

    private static func make(
        in spool: SpoolFolder,
        destination: UInt64,
        capacity: Int,
        seed: UInt64
    ) throws(SystemError) -> DuplicateWindow {
        let layout = DuplicateLayout(capacity: capacity)
        let hidden = spool.hidden("duplicates")
        do throws(SystemError) {
            let file = try File(opening: hidden, O_RDWR | O_CREAT | O_EXCL, mode: SpoolFolder.fileMode)
            try file.reserve(from: 0, count: layout.fileBytes)
            var header = ByteBuffer(capacity: DuplicateLayout.headerBytes)
            layout.appendHeader(seed: seed, destination: destination, to: &header)
            try file.write(header.bytes, at: 0)
            try FileSystem.move(hidden, to: spool.duplicates)
            return try map(try File(opening: spool.duplicates, O_RDWR), layout)
        } catch {
            _ = try? FileSystem.removeIfPresent(hidden)  // the first fault is the one to report
            throw error
        }
    }

    private static func map(_ file: consuming File, _ layout: DuplicateLayout) throws(SystemError) -> DuplicateWindow {
        let mapping = try MappedFile(file, count: layout.fileBytes)
        // Neighbours of a slot are never asked for.
        mapping.expectRandomAccess()
        return DuplicateWindow(file, mapping, layout: layout)
    }
}
