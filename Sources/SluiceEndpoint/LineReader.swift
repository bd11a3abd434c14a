// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// Reads the lines of a file or a pipe in bounded memory.
package struct LineReader: ~Copyable {
    package struct Line {
        /// The line without its line feed; empty for a line that is too long.
        ///
        /// Valid until the next call, and followed by `ByteBuffer.padding` readable bytes.
        package var bytes: UnsafeRawBufferPointer
        /// From 1.
        package var number: Int
        package var isTooLong: Bool
    }

    private static let readBytes = 256 << 10

    private let file: File
    private let maximumLineBytes: Int
    private var buffer = ByteBuffer(capacity: 2 * LineReader.readBytes)
    /// Where in the buffer the next line begins.
    private var start = 0
    private var number = 0
    private var isAtEnd = false
    /// Bytes that came from the file so far.
    package private(set) var bytesRead = 0

    package init(_ file: consuming File, maximumLineBytes: Int) {
        self.file = file
        self.maximumLineBytes = maximumLineBytes
    }

    /// The next line, or nil behind the last one; a last line without a line feed counts.
    package mutating func next() throws(SystemError) -> Line? {
        var searched = start
        while true {
            if let end = lineFeed(from: searched) {
                defer { start = end + 1 }
                return line(upTo: end)
            }
            if buffer.count - start > maximumLineBytes { return try skipLine() }
            searched = buffer.count
            if start > 0 {
                buffer.removeFirst(start)
                searched -= start
                start = 0
            }
            guard try fill() else {
                guard start < buffer.count else { return nil }
                defer { start = buffer.count }
                return line(upTo: buffer.count)
            }
        }
    }

    /// All of the input, if it ends within `maximumLineBytes` and no line but the first was taken yet.
    ///
    /// Nothing is taken by it; what it returns is valid until the next call.
    package mutating func whole() throws(SystemError) -> UnsafeRawBufferPointer? {
        guard number == 1, bytesRead == buffer.count else { return nil }
        while buffer.count <= maximumLineBytes {
            if try !fill() { return buffer.bytes }
        }
        return nil
    }

    private func lineFeed(from offset: Int) -> Int? {
        guard offset < buffer.count, let base = buffer.bytes.baseAddress,
            let found = memchr(base + offset, 0x0A, buffer.count - offset)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }

    private mutating func line(upTo end: Int) -> Line {
        number += 1
        guard end - start <= maximumLineBytes else {
            return Line(bytes: UnsafeRawBufferPointer(start: nil, count: 0), number: number, isTooLong: true)
        }
        let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes[start..<end])
        return Line(bytes: bytes, number: number, isTooLong: false)
    }

    /// Forgets a line that is too long, up to its end.
    private mutating func skipLine() throws(SystemError) -> Line {
        number += 1
        while true {
            if let end = lineFeed(from: start) {
                start = end + 1
                break
            }
            buffer.removeAll()
            start = 0
            guard try fill() else { break }
        }
        return Line(bytes: UnsafeRawBufferPointer(start: nil, count: 0), number: number, isTooLong: true)
    }

    /// Reads more behind what is there; false at the end.
    private mutating func fill() throws(SystemError) -> Bool {
        if isAtEnd { return false }
        var failure: SystemError?
        let before = buffer.count
        buffer.append(upTo: Self.readBytes) { target in
            do throws(SystemError) {
                return try file.readSome(into: target)
            } catch {
                failure = error
                return 0
            }
        }
        if let failure { throw failure }
        bytesRead += buffer.count - before
        isAtEnd = buffer.count == before
        return !isAtEnd
    }
}
