// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// Drains that a clock starts, whether the last one is done or not.
///
/// Case C95.
@Suite(.timeLimit(.minutes(2)))
struct CronTests {
    private static let ok = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8)

    @Test func `while one drain works the next ones leave at once, quietly, with the code for later`() throws {
        // The first answer takes until the others have been there.
        let mayAnswer = Lock(false)
        let upstream = Upstream { _, number in
            guard number == 0 else { return nil }
            while !mayAnswer.withLock({ $0 }) { usleep(10_000) }  // the other processes cannot wake this one
            return nil
        }
        let server = upstream.server()
        defer { server.stop() }
        let sample = try SampleSpool()
        try sample.fill(50)
        let first = try RelayProgram.start(["drain"], sample.path, to: server.url)
        #expect(first.wait(seconds: 20) { upstream.requests.count == 1 })
        for _ in 0..<4 {
            let next = try RelayProgram.start(["drain"], sample.path, to: server.url).result(seconds: 10)
            #expect(next.code == 75)
            #expect(next.output.contains("delivered 0 in 0 requests") && next.output.contains("work remains"))
            // Nothing that would be worth a mail.
            #expect(!next.errors.contains(#""level":"warning""#) && !next.errors.contains(#""level":"error""#))
        }
        mayAnswer.withLock { $0 = true }
        #expect(first.result(seconds: 20).code == 0)
        #expect(upstream.taken.count == 50 && Set(upstream.taken).count == 50)
        #expect(try RelayProgram.drain(sample.path, to: server.url).code == 0)
    }

    @Test func `a killed drain's claims are free at once, also while a helper of its shell lives on`() throws {
        let upstream = Upstream { _, number in number == 0 ? .stall : nil }
        let server = upstream.server()
        defer { server.stop() }
        let sample = try SampleSpool()
        try sample.fill(50)
        // The helper has whatever the drain's own process was started with.
        let first = try RelayProgram.start(
            ["drain"],
            sample.path,
            to: server.url,
            prefix: ["sh", "-c", "sleep 20 & echo helper $!; exec \"$0\" \"$@\""]
        )
        let helper = try #require(first.line(startingWith: "helper ").flatMap { Int32($0) })
        defer { kill(helper, SIGKILL) }
        #expect(first.wait(seconds: 20) { upstream.requests.count == 1 })
        first.kill()
        #expect(kill(helper, 0) == 0)
        let next = try RelayProgram.drain(sample.path, to: server.url)
        #expect(next.code == 0, "\(next.output) \(next.errors)")
        #expect(next.errors.contains("Claims of ended relays taken over"))
        #expect(upstream.taken.count == 50)
        #expect(try FileSystem.names(in: "\(sample.path)/claimed").isEmpty)
    }

    @Test(arguments: [false, true])
    func `a drain keeps to its time, with a slow destination and with a silent one`(isSilent: Bool) throws {
        let upstream = Upstream { _, _ in isSilent ? .stall : .drip(Self.ok, every: .milliseconds(5)) }
        let server = upstream.server()
        defer { server.stop() }
        let sample = try SampleSpool()
        try sample.fill(5000)
        let begun = SystemClock.system.monotonicNanoseconds()
        let drained = try RelayProgram.drain(
            sample.path,
            to: server.url,
            ["--deadline", "1"],
            settings: ["SLUICE_RELAY_SHUTDOWN_GRACE_S": "1", "SLUICE_RELAY_MAX_IN_FLIGHT": "2"]
        )
        #expect(drained.code == 75)
        #expect(Double(SystemClock.system.monotonicNanoseconds() - begun) / 1e9 < 8)
        #expect(drained.output.contains("events left in the spool"), "\(drained.output)")
        #expect(try FileSystem.names(in: "\(sample.path)/claimed").isEmpty)
        try expectBalanced(sample.path)
    }
}
