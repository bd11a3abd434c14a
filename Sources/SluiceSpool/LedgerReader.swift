// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// Reads the ledger from where it stopped the last time, while others append to it and fold it.
struct LedgerReader: Sendable {
    private static let pieceBytes = 1 << 20

    private let path: String
    private var file: FileHolder?
    private var offset = 0
    private(set) var book = LedgerBook()
    /// How often the book was begun anew because the ledger was folded.
    private(set) var restarts = 0

    init(path: String) { self.path = path }

    /// Reads on to the last whole line; a ledger that does not exist is an empty one.
    ///
    /// * `visit`: is given every event that was not read before.
    mutating func refresh(_ visit: (LedgerEvent, Int) -> Void = { _, _ in }) throws(SystemError) {
        let holder: FileHolder
        do throws(SystemError) {
            holder = try current()
        } catch {
            guard error.errno == ENOENT else { throw error }
            if offset > 0 { restart() }
            file = nil
            return
        }
        let size = try holder.file.status().size
        guard size > offset else {
            if size < offset {
                restart()
                file = nil
            }
            return
        }
        try read(holder, to: size, visit)
    }

    private mutating func current() throws(SystemError) -> FileHolder {
        if let file, file.file.isStillAtItsPath() { return file }
        let opened = FileHolder(try File(opening: path, O_RDONLY))
        guard try opened.file.status().isRegularFile else {
            throw SystemError(call: "open", path: path, errno: EINVAL)
        }
        if file != nil { restart() }
        file = opened
        return opened
    }

    private mutating func restart() {
        restarts += 1
        offset = 0
        book = LedgerBook()
    }

    private mutating func read(
        _ holder: FileHolder,
        to size: Int,
        _ visit: (LedgerEvent, Int) -> Void
    ) throws(SystemError) {
        var buffer = ByteBuffer(capacity: min(Self.pieceBytes, size - offset))
        // What the buffer holds begins at `offset`.
        while offset + buffer.count < size {
            let wanted = min(Self.pieceBytes, size - offset - buffer.count)
            let position = offset + buffer.count
            var failure: SystemError?
            buffer.append(upTo: wanted) { room in
                do throws(SystemError) {
                    return try holder.file.read(into: room, at: position)
                } catch {
                    failure = error
                    return 0
                }
            }
            if let failure { throw failure }
            if offset + buffer.count == position { return }
            let taken = take(buffer.bytes, visit)
            offset += taken
            buffer.removeFirst(taken)
        }
    }

    /// - Returns: the bytes of the whole lines.
    private mutating func take(_ bytes: UnsafeRawBufferPointer, _ visit: (LedgerEvent, Int) -> Void) -> Int {
        guard let base = bytes.baseAddress else { return 0 }
        var start = 0
        while start < bytes.count, let end = memchr(base + start, 0x0A, bytes.count - start) {
            let length = UnsafeRawPointer(end) - (base + start)
            if length > 0 {
                switch LedgerText.parse(UnsafeRawBufferPointer(start: base + start, count: length)) {
                case .event(let event, let seconds):
                    if book.take(event, at: seconds) {
                        visit(event, seconds)
                    } else {
                        book.noteInvalidLine(at: offset + start)
                    }
                case .unknownKind: break
                case .invalid: book.noteInvalidLine(at: offset + start)
                }
            }
            start += length + 1
        }
        return start
    }
}
