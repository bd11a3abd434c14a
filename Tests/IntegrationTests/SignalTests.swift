// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct SignalTests {
    private let sample: SampleSpool

    init() throws {
        sample = try SampleSpool()
    }

    private func start(prefix: [String] = []) throws -> RunningProcess {
        // Port 9 of the loopback is nobody's: the relay lives behind a closed gate.
        let words = ["run", "--spool", sample.path, "--graphjson-url", "http://127.0.0.1:9", "--admin", "off"]
        let runner = ProcessRunner(environment: ["GRAPHJSON_API_KEY": "k", "SLUICE_RELAY_ADMIN_LISTEN": "off"])
        guard let first = prefix.first, let tool = Tool.path(of: first) else {
            return try runner.start("sluice-relay", words)
        }
        return try runner.start(tool, prefix.dropFirst() + [ProcessRunner.path(of: "sluice-relay")] + words)
    }

    private func waitForStart(_ process: RunningProcess) {
        #expect(process.wait(seconds: 10) { process.errors.contains("Relay started") })
    }

    @Test(arguments: [SIGTERM, SIGINT], [false, true])
    func `a stop signal ends it with exit code 0, idle or with work that cannot be delivered`(
        signal: Int32,
        hasWork: Bool
    ) throws {
        if hasWork { try sample.seal([["e1"]]) }
        let process = try start()
        waitForStart(process)
        kill(process.id, signal)
        let result = process.result(seconds: 10)
        #expect(result.code == 0)
        #expect(result.errors.contains(#""events.left":\#(hasWork ? 1 : 0)"#))
        #expect(try sample.relay("inspect", sample.name(0).text).code == (hasWork ? 0 : 65))
    }

    /// Case C101.
    @Test(arguments: [0, 2, 5, 10, 20, 50])
    func `a stop signal in the first moments is not lost`(milliseconds: UInt32) throws {
        let process = try start()
        usleep(milliseconds * 1000)  // the moment is the subject
        process.terminate()
        // Before the program's first line the kernel ends it itself.
        #expect([0, 143].contains(process.result(seconds: 10).code))
    }

    /// Case C101.
    @Test(.enabled(if: Tool.isInstalled("unshare") && getuid() == 0))
    func `PID 1 of a container stops on SIGTERM and reaps what is left to it`() throws {
        // A child that ends before the program begins, and one that ends later.
        let shell = "true & sleep 0.2 & exec \"$0\" \"$@\""
        let process = try start(prefix: ["unshare", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", shell])
        waitForStart(process)
        let children = try ProcessRunner().run("/bin/sh", ["-c", "cat /proc/\(process.id)/task/*/children"])
        let inner = try #require(children.output.split(separator: " ").first.flatMap { Int32($0) })
        let childless = process.wait(seconds: 10) {
            (try? FileSystem.contents(ofProc: "/proc/\(inner)/task/\(inner)/children").isEmpty) ?? false
        }
        #expect(childless)
        kill(inner, SIGTERM)
        #expect(process.result(seconds: 10).code == 0)
    }

    @Test func `a command that only looks is ended by the signal itself`() throws {
        try sample.seal((0..<200).map { frame in (0..<200).map { "e\(frame)-\($0)" } })
        let fifo = sample.folder.path("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        // Open and never read: the command stands still in the middle of its output.
        let descriptor = open(fifo, O_RDWR)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let command = "exec '\(ProcessRunner.path(of: "sluice-relay"))' inspect \(sample.name(0)) --records"
        let process = try ProcessRunner().start("/bin/sh", ["-c", "\(command) --spool '\(sample.path)' > '\(fifo)'"])
        var queued: Int32 = 0
        #expect(process.wait(seconds: 10) { ioctl(descriptor, UInt(FIONREAD), &queued) == 0 && queued >= 65536 })
        process.terminate()
        #expect(process.result(seconds: 10).code == 143)
    }
}
