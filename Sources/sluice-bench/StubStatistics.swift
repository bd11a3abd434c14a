// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceJSON
import SluiceSystem

/// What `GET /stats` of a stub says, asked again and again over one connection.
final class StubStatistics {
    private static let request = Array("GET /stats HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)

    private let descriptor: Int32
    private let parser = JSONParser(maximumBytes: 1 << 20)
    private var answer = ByteBuffer(capacity: 8 << 10)
    private var body = ByteBuffer(capacity: 4 << 10)

    init(port: UInt16) throws { descriptor = try Loopback.connected(port) }

    deinit { close(descriptor) }

    /// Events that were taken, each delivery counted, and different ones among them.
    func events() throws -> (taken: Int, distinct: Int) {
        let sent = Self.request.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard sent == Self.request.count else { throw CommandError(.software, "the stub takes no request") }
        answer.removeAll()
        while true {
            var count = 0
            answer.append(upTo: 4 << 10) { room in
                count = recv(descriptor, room.baseAddress, room.count, 0)
                return max(0, count)
            }
            guard count > 0 else { throw CommandError(.software, "the stub gives no statistics") }
            if let head = AnswerHead(answer.bytes), answer.count >= head.length + head.contentLength {
                return try read(UnsafeRawBufferPointer(rebasing: answer.bytes[head.length...]))
            }
        }
    }

    private func read(_ text: UnsafeRawBufferPointer) throws -> (taken: Int, distinct: Int) {
        body.removeAll()
        body.append(text)
        let document = try parser.parse(body.bytes)
        func number(_ key: StaticString) -> Int {
            document.value(of: key, in: 0).flatMap { document.integer(document[$0]) } ?? 0
        }
        return (number("events"), number("distinct_event_ids"))
    }
}
