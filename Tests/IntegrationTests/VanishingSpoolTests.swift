// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// A spool that is taken away, whole or in part, under a running relay.
///
/// Case C97.
@Suite(.timeLimit(.minutes(2)))
struct VanishingSpoolTests {
    @Test(arguments: ["", "ready", "claimed", "progress", "incoming", "lock"])
    func `a relay whose spool loses a part stops or waits, says which, and delivers the rest once it is back`(
        part: String
    ) throws {
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        let sample = try SampleSpool()
        let relay = try RelayProgram.run(sample.path, to: server.url)
        try sample.fill(100)
        #expect(relay.wait(seconds: 20) { upstream.taken.count == 100 })
        var path = part.isEmpty ? sample.path : "\(sample.path)/\(part)"
        if part == "lock" {
            let worker = try #require(try FileSystem.names(in: "\(sample.path)/claimed").first)
            path = "\(sample.path)/claimed/\(worker)/lock"
        }
        let aside = sample.folder.path("aside")
        #expect(rename(path, aside) == 0)
        let gone = sample.folder.path("gone")
        // Told within a minute, and in fact within seconds.
        let isTold = relay.wait(seconds: 20) { !relay.isRunning || relay.errors.contains(path) }
        #expect(isTold, "\(relay.errors)")
        if relay.isRunning {
            relay.terminate()
            #expect([0, 74].contains(relay.result(seconds: 20).code))
        } else {
            #expect(relay.result().code == 74)
            #expect(relay.errors.contains(sample.path), "\(relay.errors)")
        }
        if part == "lock" { try FileSystem.remove(aside) } else { #expect(rename(aside, path) == 0) }
        withExtendedLifetime(gone) {}
        try sample.fill(50, prefix: "later", firstSequence: 1)
        #expect(try RelayProgram.drain(sample.path, to: server.url).code == 0)
        #expect(upstream.taken.count == 150 && Set(upstream.taken).count == 150)
        try expectBalanced(sample.path)
    }

    @Test func `a cleaner that removes every old file costs no event that is not removed itself`() throws {
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        let sample = try SampleSpool()
        try sample.fill(100, perSegment: 10)
        let find = try #require(Tool.path(of: "find"))
        // Everything but the segments: FORMAT, ledger, gate, duplicates, locks.
        let cleaned = try ProcessRunner().run(find, [sample.path, "-type", "f", "!", "-name", "*.lz4", "-delete"])
        #expect(cleaned.code == 0)
        let drained = try RelayProgram.drain(sample.path, to: server.url)
        #expect(drained.code == 0, "\(drained.output) \(drained.errors)")
        #expect(upstream.taken.count == 100)
        try expectBalanced(sample.path)
    }
}
