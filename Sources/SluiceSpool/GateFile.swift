// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// The file `gate`, which all relays of a spool read and write.
///
/// One line of JSON, filled up with spaces to 4096 bytes and always written over in place under `flock(2)`: once it is
/// there, a change needs no room on the disk. A file that does not verify says nothing, and the road is open.
package final class GateFile: Sendable {
    private static let size = 4096

    private let path: String

    package init(in spool: SpoolFolder) { path = spool.gate }

    /// What the file says, whoever the destination is; nil when there is no file or it cannot be read.
    package func current() -> Gate? {
        guard let file = try? File(opening: path, O_RDONLY) else { return nil }  // no file: open
        return Self.read(file, exclusive: false)
    }

    /// What is known of `destination`; an open road when the file says nothing of it.
    package func read(destination: UInt64) -> Gate {
        guard let gate = current(), gate.destination == destination else { return Gate(destination: destination) }
        return gate
    }

    /// Changes what is known of `destination`; nobody else's change comes between.
    ///
    /// - Returns: the gate after the change.
    /// - Throws: when it could not be written; the caller then goes on with what it knows itself.
    @discardableResult
    package func update(destination: UInt64, _ change: (inout Gate) -> Void) throws(SpoolError) -> Gate {
        try spoolCall { () throws(SystemError) in
            let file = try opened()
            try file.lock()
            defer { try? file.unlock() }  // closing would do it as well
            var gate = Gate(destination: destination)
            if let known = Self.readLocked(file), known.destination == destination { gate = known }
            let before = gate
            change(&gate)
            if gate == before, Self.readLocked(file) == before { return gate }
            var line = ByteBuffer(capacity: Self.size)
            gate.append(to: &line, limit: Self.size - 1)
            while line.count < Self.size - 1 { line.append(UInt8(ascii: " ")) }
            line.append(UInt8(ascii: "\n"))
            try file.write(line.bytes, at: 0)
            return gate
        }
    }

    private func opened() throws(SystemError) -> File {
        do throws(SystemError) {
            return try File(opening: path, O_RDWR | O_CREAT | O_EXCL, mode: SpoolFolder.fileMode)
        } catch {
            guard error.errno == EEXIST else { throw error }
            return try File(opening: path, O_RDWR)
        }
    }

    private static func read(_ file: borrowing File, exclusive: Bool) -> Gate? {
        // Without the lock, a half-written line would not verify: nothing worse.
        try? file.lock(exclusive: exclusive)
        defer { try? file.unlock() }
        return readLocked(file)
    }

    private static func readLocked(_ file: borrowing File) -> Gate? {
        guard let status = try? file.status(), status.isRegularFile else { return nil }
        var buffer = ByteBuffer(capacity: size)
        buffer.append(upTo: size) { (try? file.read(into: $0, at: 0)) ?? 0 }
        return Gate(json: buffer.bytes)
    }
}
