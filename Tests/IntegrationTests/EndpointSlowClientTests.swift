// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// Clients that are slow on purpose beside one that is not.
@Suite(.timeLimit(.minutes(3)))
struct EndpointSlowClientTests {
    private let folder = TemporaryFolder()

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
