// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSoak
import SluiceSystem

/// One client: posts its batches one after the other over a kept connection, and repeats each until it is acknowledged.
final class SoakClient {
    enum Phase { case idle, busy, waiting, retired }

    /// What came of looking at the connection.
    enum Step {
        case going
        case acknowledged
        /// An answer that takes nothing, and after how many seconds it may be tried again.
        case refused(status: Int, retryAfter: Int?)
        case broken
        /// A complete 200 that does not name exactly the events that were posted.
        case wrong(String)
    }

    let index: Int
    private let plan: SoakPlan
    private(set) var round = 0
    var phase = Phase.idle
    /// Monotonic nanoseconds: when to try again while waiting, when to give up while busy.
    var due: Int64 = 0
    var failures = 0
    private(set) var descriptor: Int32 = -1
    private var sent = 0
    private var body = ByteBuffer(capacity: 16 << 10)
    private var request = ByteBuffer(capacity: 16 << 10)
    private var answer = ByteBuffer(capacity: 4 << 10)
    private var wanted = ByteBuffer(capacity: 4 << 10)

    init(index: Int, plan: SoakPlan) {
        self.index = index
        self.plan = plan
    }

    deinit { drop() }

    var firstNumber: Int { plan.firstNumber(client: index, round: round) }

    func proceed() {
        round += 1
        failures = 0
        phase = round < plan.rounds ? .idle : .retired
    }

    // MARK: Sending

    /// Writes the request of this round, anew for each attempt: a client says when it sends.
    func compose(sentAt seconds: Int) {
        body.removeAll()
        body.append("{\"events\":[")
        for number in firstNumber..<firstNumber + plan.batch {
            if number > firstNumber { body.append(",") }
            plan.appendEnvelope(number, to: &body)
        }
        body.append("]")
        if index % 2 == 0 {
            body.append(",\"client_sent_at\":")
            body.append(decimal: seconds)
        }
        body.append("}")
        request.removeAll()
        request.append(
            "POST /api/mobile-events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
        )
        request.append(decimal: body.count)
        request.append("\r\n\r\n")
        request.append(body.bytes)
        sent = 0
        answer.removeAll()
    }

    /// Connects if there is no connection.
    ///
    /// - Returns: whether a new connection was made; nil when nobody listens.
    func connect(to port: UInt16) -> Bool? {
        if descriptor >= 0 { return false }
        guard let made = try? Loopback.connected(port) else { return nil }  // the endpoint is down
        _ = fcntl(made, F_SETFL, O_NONBLOCK)
        descriptor = made
        return true
    }

    /// Sends what the connection takes, at most up to `limit` bytes of the request.
    ///
    /// - Returns: whether the request is out; nil when the connection is broken.
    func push(upTo limit: Int = .max) -> Bool? {
        let end = min(limit, request.count)
        while sent < end {
            let rest = UnsafeRawBufferPointer(rebasing: request.bytes[sent..<end])
            let count = send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            if count < 0 { return errno == EAGAIN ? false : nil }
            sent += count
        }
        return true
    }

    var requestBytes: Int { request.count }
    var isSent: Bool { sent == request.count }

    /// Closes the connection, with a reset if the other side shall see one.
    func drop(withReset: Bool = false) {
        guard descriptor >= 0 else { return }
        if withReset { Loopback.reset(descriptor) } else { close(descriptor) }
        descriptor = -1
    }

    // MARK: Answers

    func receive() -> Step {
        var isEnded = false
        answer.append(upTo: 8 << 10) { room in
            let count = recv(descriptor, room.baseAddress, room.count, 0)
            isEnded = count == 0 || (count < 0 && errno != EAGAIN)
            return max(0, count)
        }
        if isEnded { return .broken }
        guard phase == .busy else { return answer.isEmpty ? .going : .broken }
        guard let head = AnswerHead(answer.bytes), answer.count >= head.length + head.contentLength else {
            return .going
        }
        guard head.status == 200 else { return .refused(status: head.status, retryAfter: head.retryAfterSeconds) }
        let text = UnsafeRawBufferPointer(rebasing: answer.bytes[head.length...])
        composeWanted()
        if text.contains(part: Self.rejected), text.firstOffset(of: wanted.bytes) != nil { return .acknowledged }
        return .wrong(String(decoding: text.prefix(2000), as: UTF8.self))
    }

    private static let rejected = Array("\"rejected\":[]".utf8)

    private func composeWanted() {
        wanted.removeAll()
        wanted.append("\"accepted\":[\"")
        for number in firstNumber..<firstNumber + plan.batch {
            if number > firstNumber { wanted.append("\",\"") }
            plan.appendID(number, to: &wanted)
        }
        wanted.append("\"]")
    }
}
