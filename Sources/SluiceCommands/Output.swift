// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// Where a command's results go: standard output, gathered into few writes.
package final class Output: Sendable {
    private static let flushBytes = 1 << 16

    private let descriptor: Int32
    private let buffered = Lock<[UInt8]>([])

    package init(descriptor: Int32 = STDOUT_FILENO) {
        self.descriptor = descriptor
    }

    /// Whether a person is looking.
    package var isTerminal: Bool { isatty(descriptor) == 1 }

    /// Writes `text` and ends the line.
    ///
    /// - Throws: EPIPE when the reader has enough.
    package func line(_ text: String = "") throws(SystemError) {
        try write(Array(text.utf8) + [UInt8(ascii: "\n")])
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        try write(Array(bytes))
    }

    package func write(_ bytes: [UInt8]) throws(SystemError) {
        let full = buffered.withLock { buffered -> [UInt8] in
            buffered += bytes
            guard buffered.count >= Self.flushBytes else { return [] }
            defer { buffered = [] }
            return buffered
        }
        try put(full)
    }

    /// Hands everything to the kernel now.
    package func flush() throws(SystemError) {
        try put(
            buffered.withLock { buffered in
                defer { buffered = [] }
                return buffered
            }
        )
    }

    private func put(_ bytes: [UInt8]) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var target = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&target, 1, -1)
            } else if errno != EINTR {
                throw SystemError(call: "write", path: "standard output", errno: errno)
            }
        }
    }
}
