// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// Clients that are slow on purpose beside one that is not.
@Suite(.timeLimit(.minutes(3)))
struct EndpointSlowClientTests {
    private let folder = TemporaryFolder()

    /// Case C29, with deadlines of seconds for those of minutes.
    @Test func `an honest phone is served beside hundreds that are slow on purpose, from many addresses`() throws {
        DescriptorLimit.raise()
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(
            spool: folder.path("spool"),
            contract: contract,
            settings: [
                "SLUICE_ENDPOINT_HEAD_TIMEOUT_S": "2", "SLUICE_ENDPOINT_BODY_TIMEOUT_S": "4",
                "SLUICE_ENDPOINT_SEND_TIMEOUT_S": "2", "SLUICE_ENDPOINT_KEEP_ALIVE_TIMEOUT_S": "2",
            ]
        )
        let process = endpoint.process
        let before = try #require(process.descriptorCount)
        let memory = try #require(process.memory("VmRSS"))
        let start = "POST /api/mobile-events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        let head = Array("\(start)Content-Length: 20000\r\n\r\n".utf8)
        let unread = Array(String(repeating: "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", count: 500).utf8)
        var heads: [LoopbackSocket] = []
        var bodies: [LoopbackSocket] = []
        var others: [LoopbackSocket] = []
        for number in 0..<500 {
            let address = UInt8(2 + number % 50)
            let bytes: Int32? = number % 4 == 3 ? 4096 : nil
            let socket = try #require(
                LoopbackSocket.connected(to: endpoint.port, from: address, receiveBytes: bytes)
            )
            socket.limitReceiving(milliseconds: 1)
            switch number % 4 {
            case 0: heads.append(socket)
            case 1:
                socket.send(head)
                bodies.append(socket)
            case 2: others.append(socket)
            default:
                socket.limitSending(milliseconds: 1)
                socket.send(unread)
                others.append(socket)
            }
        }
        // The phone: twenty pieces with a pause in the middle, longer than any head may take.
        let body = EndpointProcess.batch((0..<60).map { "phone-\($0)" })
        let phone = try endpoint.client()
        let bytes = Array("\(start)Content-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
        let size = bytes.count / 20 + 1
        var answer: RawAnswer?
        for piece in 0..<20 {
            phone.socket.send(bytes[min(bytes.count, piece * size)..<min(bytes.count, piece * size + size)])
            for socket in heads { socket.send([head[piece]]) }
            for socket in bodies { socket.send([0x20]) }
            usleep(piece == 10 ? 1_000_000 : 80_000)  // slow by nature
            let quick = try endpoint.client().post(EndpointProcess.batch(["quick-\(piece)"]))
            #expect(quick?.status == 200)
        }
        answer = RawAnswer.all(phone.socket.receive()).first
        #expect(answer?.status == 200 && answer?.body.contains("phone-59") == true)
        // All others are closed in time, whatever they go on sending, and nothing of them is left.
        let isOver = process.wait(seconds: 20) {
            for socket in bodies { socket.send([0x20]) }
            usleep(50_000)  // between two bytes
            return (process.descriptorCount ?? .max) <= before + 10
        }
        #expect(isOver, "\(process.descriptorCount ?? -1) descriptors, \(before) before")
        #expect(bodies.contains { RawAnswer.all($0.receive()).first?.status == 408 })
        #expect(try #require(process.memory("VmHWM")) - memory < 96 << 20)
        withExtendedLifetime(others) {}
        process.terminate()
        #expect(process.result(seconds: 20).code == 0)
        #expect(try SpooledLines.all(in: endpoint.spool).compactMap(SpooledLines.id).contains("phone-59"))
    }

    @Test func `thousands that drip do not hold up a normal client and are closed in time`() throws {
        let count = ProcessEnvironment.current["SLUICE_TEST_SLOW_CLIENTS"].flatMap { Int($0) } ?? 1500
        DescriptorLimit.raise()
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(
            spool: folder.path("spool"),
            contract: contract,
            settings: ["SLUICE_ENDPOINT_HEAD_TIMEOUT_S": "3", "SLUICE_ENDPOINT_BODY_TIMEOUT_S": "3"]
        )
        var slow: [LoopbackSocket] = []
        for _ in 0..<count {
            guard let socket = LoopbackSocket.connected(to: endpoint.port) else { break }
            socket.limitReceiving(milliseconds: 1)
            slow.append(socket)
        }
        #expect(slow.count == count)
        let head = Array("POST /api/mobile-events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n".utf8)
        let clock = SystemClock.system
        let begun = clock.monotonicNanoseconds()
        var times: [Double] = []
        var closed = 0
        var position = 0
        while closed < count && clock.monotonicNanoseconds() - begun < 60_000_000_000 {
            closed = 0
            for socket in slow {
                if !socket.send([head[position % head.count]]) { closed += 1 }
            }
            position += 1
            let client = try endpoint.client()
            let sent = clock.monotonicNanoseconds()
            #expect(client.post(EndpointProcess.batch(["n\(position)"]))?.status == 200)
            times.append(Double(clock.monotonicNanoseconds() - sent) / 1e9)
            usleep(100_000)  // between two bytes
        }
        #expect(closed == count)
        times.sort()
        #expect(times[times.count * 99 / 100] < 1, "p99 of \(times.count): \(times[times.count * 99 / 100]) s")
        slow = []
        endpoint.process.terminate()
        #expect(endpoint.process.result(seconds: 20).code == 0)
    }
}
