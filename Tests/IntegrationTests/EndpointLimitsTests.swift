// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import SluiceTestSupport
import Testing

/// Requests of indecent size and depth, many at once, against the real program and its memory.
@Suite(.timeLimit(.minutes(3)))
struct EndpointLimitsTests {
    private let folder = TemporaryFolder()

    private func endpoint(_ settings: [String: String] = [:]) throws -> EndpointProcess {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        return try EndpointProcess(spool: folder.path("spool"), contract: contract, settings: settings)
    }

    private func request(_ body: String, _ headers: [String] = []) -> [UInt8] {
        let fields = headers.map { "\($0)\r\n" }.joined()
        let head = "POST /api/mobile-events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\(fields)"
        return Array("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
    }

    /// An event with one member of this JSON.
    private func event(_ member: String) -> String {
        EndpointProcess.batch(["deep"]).replacing(#""properties":{"#, with: "\(member),\"properties\":{")
    }

    /// Case C10.
    @Test func `depth costs a moment and no memory, fifty at once, and the connections go on`() async throws {
        let endpoint = try endpoint()
        let closed = { (depth: Int) in
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        let bodies = [
            event("\"ignored\":\(closed(600))"), event("\"ignored\":\(closed(511))"),
            event("\"ignored\":\(String(repeating: "[", count: 600))"),
            event("\"ignored\":\(String(repeating: "{\"a\":", count: 5000))"),
            event("\"ignored\":\(String(repeating: "[", count: 100_000))"),
            EndpointProcess.batch(["good"]),
        ]
        // One round before, so that what is allocated once is.
        let first = try endpoint.client()
        for body in bodies.dropLast() { #expect(first.post(body)?.body.contains("\"accepted\":[\"") == false) }
        let before = try #require(endpoint.process.memory("VmHWM"))
        let port = endpoint.port
        let begun = SystemClock.system.monotonicNanoseconds()
        let statuses = try await withThrowingTaskGroup(of: [Int?].self) { group in
            // Of several addresses, for one may use an eighth of the memory for bodies.
            for number in 0..<50 {
                group.addTask {
                    try await onThread {
                        let client = EndpointClient(port: port, from: UInt8(2 + number % 5))
                        return bodies.map { client?.post($0)?.status }
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let seconds = Double(SystemClock.system.monotonicNanoseconds() - begun) / 1e9
        #expect(statuses.count == 50)
        for status in statuses { #expect(status == [200, 200, 400, 400, 400, 200]) }
        #expect(seconds < 20)
        let grown = try #require(endpoint.process.memory("VmHWM")) - before
        #expect(grown < 48 << 20, "\(grown) bytes more")
    }

    /// Case C15.
    @Test func `twenty clients with huge parts at once stay within the memory for bodies`() async throws {
        let endpoint = try endpoint()
        let million = String(repeating: "k", count: 1_000_000)
        let properties = (0..<10_000).map { "\"p\($0)\":\"\($0)\"" }.joined(separator: ",")
        let escapes = String(repeating: "\\n", count: 200_000)
        let parts = [
            event("\"\(million)\":1"), event("\"x\":\"\(million)\""),
            event("\"y\":1").replacing(#""screen":"home""#, with: properties),
            event("\"y\":1").replacing("home", with: escapes),
        ]
        let heads = [
            (0..<5000).map { "X-H\($0): v" }, ["X-Long: \(String(repeating: "h", count: 1 << 20))"],
        ]
        let requests =
            parts.map { request($0) } + heads.map { request(EndpointProcess.batch(["a"]), $0) }
            + [
                Array(
                    ("POST /api/mobile-events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                        + "Content-Length: 999999999\r\n\r\n").utf8
                )
            ]
        let before = try #require(endpoint.process.memory("VmRSS"))
        let port = endpoint.port
        for (number, bytes) in requests.enumerated() {
            let statuses = try await withThrowingTaskGroup(of: Int?.self) { group in
                for client in 1...20 {
                    group.addTask {
                        try await onThread {
                            let socket = LoopbackSocket.connected(to: port, from: UInt8(client))
                            socket?.limitReceiving(seconds: 20)
                            socket?.send(bytes)
                            return RawAnswer.all(socket?.receive() ?? []).first?.status
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            // A connection may be cut while a head without end is still being sent.
            let allowed: Set<Int?> = number < 4 ? [200, 413, 503] : number < 6 ? [431, nil] : [413]
            #expect(Set(statuses).isSubset(of: allowed), "\(number): \(statuses)")
            #expect(try endpoint.client().post(EndpointProcess.batch(["after-\(number)"]))?.status == 200)
        }
        let peak = try #require(endpoint.process.memory("VmHWM"))
        // The budget for bodies is 32 MiB; a debug build's parser and the sockets come on top.
        #expect(peak - before < 128 << 20, "\(peak - before) bytes more")
    }

    /// Case C26.
    @Test(.enabled(if: Tool.isInstalled("curl"), "the curl command is not installed"))
    func `curl reads that a body is too large, whether it waits for 100 or not`() throws {
        let endpoint = try endpoint()
        let body = try folder.write(String(repeating: "x", count: 5 << 20), to: "body")
        for round in 0..<20 {
            let expectation = round % 2 == 0 ? ["-H", "Expect: 100-continue"] : ["-H", "Expect:"]
            let words =
                [
                    "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Content-Type: application/json",
                    "--data-binary", "@\(body)", "http://\(endpoint.address)/api/mobile-events",
                ] + expectation
            let curl = try #require(Tool.path(of: "curl"))
            let result = try ProcessRunner().run(curl, words)
            #expect(result.output == "413", "\(result.code) \(result.errors)")
        }
        #expect(try endpoint.client().post(EndpointProcess.batch(["after"]))?.status == 200)
    }
}
