// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// Both programs as the first process of a container, whom no signal ends that it does not handle.
///
/// Case C101.
@Suite(
    .enabled(if: FirstProcess.isPossible, "needs root and unshare, to be the first process of something"),
    .timeLimit(.minutes(3))
)
struct FirstProcessTests {
    enum Subject: CaseIterable, Sendable {
        case endpointIdle, endpointUnderLoad, relayIdle, relayUnderLoad, relayInBackoff
    }

    /// Rounds; more of them with SLUICE_TEST_STOPS.
    private static let rounds = ProcessEnvironment.current["SLUICE_TEST_STOPS"].flatMap { Int($0) } ?? 2
    private let folder = TemporaryFolder()

    @Test(arguments: Subject.allCases)
    func `it ends within seconds of SIGTERM, whatever it is doing, and has reaped what it inherited`(
        subject: Subject
    ) throws {
        let ok = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8)
        for round in 0..<Self.rounds {
            let upstream = Upstream { _, _ in
                subject == .relayInBackoff ? .status(503) : .drip(ok, every: .milliseconds(5))
            }
            let server = upstream.server()
            defer { server.stop() }
            let process: RunningProcess
            let sample = try SampleSpool()
            var clients: [SystemThread] = []
            switch subject {
            case .endpointIdle, .endpointUnderLoad:
                let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
                let endpoint = try EndpointProcess(
                    spool: folder.path("spool"),
                    contract: contract,
                    prefix: FirstProcess.prefix
                )
                process = endpoint.process
                if subject == .endpointUnderLoad {
                    clients = Self.load(endpoint.port)
                    let ready = "\(endpoint.spool)/incoming"
                    process.wait(seconds: 10) { ((try? FileSystem.names(in: ready).count) ?? 0) > 0 }
                }
            default:
                if subject != .relayIdle { try sample.fill(5000) }
                process = try RelayProgram.run(sample.path, to: server.url, prefix: FirstProcess.prefix)
                if subject != .relayIdle { process.wait(seconds: 20) { upstream.requests.count > 2 } }
            }
            let first = try FirstProcess.find(process)
            #expect(process.wait(seconds: 10) { FirstProcess.childCount(first) == 0 }, "round \(round)")
            let begun = SystemClock.system.monotonicNanoseconds()
            kill(first, SIGTERM)
            let code = process.result(seconds: 20).code
            let seconds = Double(SystemClock.system.monotonicNanoseconds() - begun) / 1e9
            #expect(code == 0 && seconds < 12, "round \(round): code \(code) after \(seconds) s")
            for client in clients { client.join() }
            withExtendedLifetime(sample) {}
        }
    }

    private static func load(_ port: UInt16) -> [SystemThread] {
        (0..<4).map { number in
            SystemThread(name: "client") {
                guard let client = EndpointClient(port: port) else { return }
                for batch in 0..<1_000_000 {
                    guard client.post(EndpointProcess.batch(["c\(number)-\(batch)"]))?.status == 200 else { return }
                }
            }
        }
    }

    /// Before its first line a first process has no handler, and the kernel drops what nobody handles.
    @Test(arguments: ["sluice-endpoint", "sluice-relay"])
    func `a signal counts from the moment it is handled, which is before anything else is done`(program: String) throws
    {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        for _ in 0..<Self.rounds {
            let spool = folder.path("spool-\(program)")
            let words =
                program == "sluice-relay"
                ? ["run", "--spool", spool, "--graphjson-url", "http://127.0.0.1:9"]
                : ["serve", "--spool", spool, "--contract", contract, "--listen", "127.0.0.1:0"]
            let tool = try #require(Tool.path(of: "unshare"))
            let process = try ProcessRunner(environment: RelayProgram.settings).start(
                tool,
                FirstProcess.prefix.dropFirst() + [ProcessRunner.path(of: program)] + words + ["--admin", "off"]
            )
            var first: Int32?
            process.wait(seconds: 20) {
                first = FirstProcess.child(of: process.id)
                return first.map { FirstProcess.handlesTermination($0) } ?? false
            }
            let isEarly = (try? FileStatus(of: spool)) == nil
            kill(try #require(first), SIGTERM)
            #expect(process.result(seconds: 10).code == 0, "\(process.errors)")
            if isEarly { break }
        }
    }
}

/// A process of its own numbering, with two children that it did not start.
enum FirstProcess {
    static let isPossible =
        isRoot && (try? Tool.run("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "true"))?.code == 0

    static let prefix = [
        "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c",
        "true & sleep 0.1 & exec \"$0\" \"$@\"",
    ]

    static func find(_ process: RunningProcess) throws -> Int32 { try RelayProgram.inner(process) }

    static func childCount(_ id: Int32) -> Int { children(of: id).count }

    /// The first child; nil while there is none.
    static func child(of id: Int32) -> Int32? { children(of: id).first }

    private static func children(of id: Int32) -> [Int32] {
        let bytes = (try? FileSystem.contents(ofProc: "/proc/\(id)/task/\(id)/children")) ?? []  // ended: none
        return String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { Int32($0) }
    }

    /// Whether the program itself runs, and has a handler for SIGTERM.
    static func handlesTermination(_ id: Int32) -> Bool {
        let bytes = (try? FileSystem.contents(ofProc: "/proc/\(id)/status")) ?? []  // not there yet
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard lines.first?.contains("sluice") == true, let line = lines.first(where: { $0.hasPrefix("SigCgt:") }),
            let mask = UInt64(line.dropFirst("SigCgt:".count).filter { !$0.isWhitespace }, radix: 16)
        else { return false }
        return mask >> UInt64(SIGTERM - 1) & 1 == 1
    }
}
