// SPDX-License-Identifier: Apache-2.0

/// What programs did to a spool, as `libSluiceFaults.so` wrote it down: see `SluiceFaults.h`.
package struct FaultLog {
    package enum Operation: String, Sendable {
        case create, write, truncate, extend, reserve, fsync, fdatasync, syncfolder, rename, link, unlink, mkdir, rmdir
        case lock, unlock, fault, send, receive, exit

        /// Whether it is a step between which a crash can be told from the next.
        package var isChange: Bool {
            switch self {
            case .lock, .unlock, .fault, .send, .receive, .exit: false
            default: true
            }
        }
    }

    package struct Entry: Sendable {
        package var operation: Operation
        package var process: Int32
        /// The file's number; 0 where there is none.
        package var inode: UInt64
        /// What the call returned, or the negative errno.
        package var result: Int
        package var offset: Int
        /// Bytes written, reserved, sent or received.
        package var length: Int
        /// Below the root.
        package var path: String
        /// Where a rename or link went; of a fault the rule.
        package var target: String?
        /// What was written, sent or received; empty for all others.
        package var bytes: ArraySlice<UInt8>

        package var hasFailed: Bool { result < 0 }
    }

    package let entries: [Entry]

    /// Reads a whole log; what stands behind a line that is none, as after a kill from outside, is left out.
    package init(_ bytes: [UInt8]) {
        var entries: [Entry] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")), var entry = Entry(line: rest[..<end]) {
            rest = rest[(end + 1)...]
            if entry.operation.hasBytes {
                guard rest.count > entry.length else { break }
                entry.bytes = rest.prefix(entry.length)
                rest = rest.dropFirst(entry.length + 1)
            }
            entries.append(entry)
        }
        self.entries = entries
    }

    /// Operations that change the spool or make it durable, whatever came of them.
    package var changes: [Entry] { entries.filter(\.operation.isChange) }
    /// The faults that were injected.
    package var faults: [Entry] { entries.filter { $0.operation == .fault } }
}

extension FaultLog.Operation {
    fileprivate var hasBytes: Bool { self == .write || self == .send || self == .receive }
}

extension FaultLog.Entry {
    fileprivate init?(line: ArraySlice<UInt8>) {
        let words = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 8, let operation = FaultLog.Operation(rawValue: words[0]), let process = Int32(words[1]),
            let inode = UInt64(words[2]), let result = Int(words[3]), let offset = Int(words[4]),
            let length = Int(words[5])
        else { return nil }
        self.init(
            operation: operation,
            process: process,
            inode: inode,
            result: result,
            offset: offset,
            length: length,
            path: Self.unescaped(words[6]),
            target: words[7] == "-" ? nil : Self.unescaped(words[7]),
            bytes: []
        )
    }

    private static func unescaped(_ word: String) -> String {
        guard word.utf8.contains(UInt8(ascii: "%")) else { return word }
        var bytes: [UInt8] = []
        var rest = Array(word.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "%"), let value = UInt8(digits, radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
