// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSystem

/// Clients that post batches over keep-alive connections, all on one thread.
final class EndpointLoad {
    private struct Connection {
        var descriptor: Int32
        var sent = 0
        var begunAt: Int64 = 0
        var received = 0
        /// Bytes of the whole answer; 0 until its head is here.
        var expected = 0
    }

    private static let answerBytes = 64 << 10

    private var connections: [Connection] = []
    private var idle: [Int32] = []
    private let poll: EventPoll
    private let batch: Int
    /// One request for each connection, of equal length.
    private let requests: UnsafeMutableRawBufferPointer
    private let requestBytes: Int
    /// Where the digits of the events' ids stand in a request.
    private let places: [Int]
    private let answer = UnsafeMutableRawBufferPointer.allocate(byteCount: answerBytes, alignment: 16)
    private var nextEvent: UInt64 = 0
    private var latencies: [Int32] = []
    private(set) var accepted = 0

    init(port: UInt16, connections count: Int, batch: Int, idle: Int) throws {
        self.batch = batch
        poll = try EventPoll()
        (_, places, requestBytes) = SampleBatch(batch).request
        requests = .allocate(byteCount: requestBytes * count, alignment: 16)
        for index in 0..<count {
            UnsafeMutableRawBufferPointer(rebasing: requests[index * requestBytes..<(index + 1) * requestBytes])
                .copyBytes(from: SampleBatch(batch, client: index).request.bytes)
        }
        for _ in 0..<idle { self.idle.append(try Loopback.connected(port)) }
        for index in 0..<count {
            let descriptor = try Loopback.connected(port)
            connections.append(Connection(descriptor: descriptor))
            poll.watch(descriptor, mark: index)
        }
        for descriptor in self.idle { try postOnce(descriptor) }
    }

    deinit {
        for descriptor in idle + connections.map(\.descriptor) { close(descriptor) }
        requests.deallocate()
        answer.deallocate()
    }

    private func postOnce(_ descriptor: Int32) throws {
        number(0)
        _ = send(descriptor, requests.baseAddress, requestBytes, 0)
        guard recv(descriptor, answer.baseAddress, answer.count, 0) > 0 else {
            throw CommandError(.software, "an idle connection got no answer")
        }
    }

    // MARK: - Driving

    /// Posts until `events` are accepted; `sample` is called now and then.
    func run(events: Int, sample: () -> Void) throws {
        let requestCount = max(connections.count, events / batch)
        latencies.reserveCapacity(requestCount)
        for index in connections.indices {
            _ = fcntl(connections[index].descriptor, F_SETFL, O_NONBLOCK)
            try begin(index)
        }
        var begun = connections.count
        var sampledAt: Int64 = 0
        while latencies.count < requestCount {
            try poll.wait(milliseconds: 20_000) { index in
                guard try proceed(index), begun < requestCount else { return }
                begun += 1
                try begin(index)
            }
            let now = SystemClock.system.monotonicNanoseconds()
            if now - sampledAt > 100_000_000 {
                sampledAt = now
                sample()
            }
        }
    }

    /// Milliseconds that a share of the requests took at most.
    func latency(_ share: Double) -> Double {
        let sorted = latencies.sorted()
        return Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]) / 1000
    }

    private func begin(_ index: Int) throws {
        number(index)
        connections[index].sent = 0
        connections[index].received = 0
        connections[index].expected = 0
        connections[index].begunAt = SystemClock.system.monotonicNanoseconds()
        try push(index)
    }

    /// Gives the events of a request ids of their own.
    private func number(_ index: Int) {
        for place in places {
            nextEvent += 1
            for half in 0..<2 {
                // Either half for itself tells one event from all others.
                var rest = SampleBatch.mixed(nextEvent &+ UInt64(half) << 40)
                let start = index * requestBytes + place + half * 16
                for position in start..<start + 16 {
                    requests[position] = Self.digits[Int(rest & 15)]
                    rest >>= 4
                }
            }
        }
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private func push(_ index: Int) throws {
        let connection = connections[index]
        let start = requests.baseAddress.map { $0 + index * requestBytes + connection.sent }
        let count = send(connection.descriptor, start, requestBytes - connection.sent, Int32(MSG_NOSIGNAL))
        if count < 0 && errno != EAGAIN {
            throw CommandError(.software, "the endpoint broke a connection: \(String(cString: strerror(errno)))")
        }
        connections[index].sent += max(0, count)
        let isDone = connections[index].sent == requestBytes
        if !isDone || connection.sent > 0 {
            poll.watch(connection.descriptor, mark: index, forRoom: !isDone, isNew: false)
        }
    }

    /// Reads what came.
    ///
    /// - Returns: whether the answer is complete.
    private func proceed(_ index: Int) throws -> Bool {
        if connections[index].sent < requestBytes { try push(index) }
        let count = recv(connections[index].descriptor, answer.baseAddress, answer.count, 0)
        if count < 0 && errno == EAGAIN { return false }
        guard count > 0 else { throw CommandError(.software, "the endpoint closed a connection") }
        if connections[index].expected == 0 {
            let piece = UnsafeRawBufferPointer(rebasing: answer[..<count])
            connections[index].expected = try Self.length(of: piece)
            guard piece.contains(part: Self.noneRejected) || connections[index].expected > count else {
                throw CommandError(.software, "the endpoint rejected events")
            }
        }
        connections[index].received += count
        guard connections[index].received >= connections[index].expected else { return false }
        let nanoseconds = SystemClock.system.monotonicNanoseconds() - connections[index].begunAt
        latencies.append(Int32(truncatingIfNeeded: nanoseconds / 1000))
        accepted += batch
        return true
    }

    private static let noneRejected = Array("\"rejected\":[]".utf8)

    /// Bytes of an answer, head included; its head must be here.
    private static func length(of piece: UnsafeRawBufferPointer) throws -> Int {
        guard let head = AnswerHead(piece) else { throw CommandError(.software, "an answer's head came in pieces") }
        guard head.status == 200 else {
            throw CommandError(.software, "the endpoint answered \(String(decoding: piece.prefix(400), as: UTF8.self))")
        }
        return head.length + head.contentLength
    }
}
