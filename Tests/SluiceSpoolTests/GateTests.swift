// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct GateTests {
    let fixture: SpoolFixture
    let file: GateFile

    init() throws {
        fixture = try SpoolFixture()
        file = GateFile(in: fixture.spool)
    }

    @Test func `without a file the road is open`() {
        #expect(file.current() == nil)
        #expect(file.read(destination: 7) == Gate(destination: 7))
        #expect(!file.read(destination: 7).isClosed(atMilliseconds: 0))
    }

    @Test func `what one relay writes the next one reads`() throws {
        try file.update(destination: 7) { gate in
            gate.closedUntilMilliseconds = 1_796_000_060_000
            gate.reason = "429, Retry-After \"60\"\n\u{1}"
            gate.consecutiveFailures = 3
        }
        let again = try GateFile(in: fixture.spool).update(destination: 7) { gate in
            gate.consecutiveFailures += 1
            gate.hasDelivered = true
            gate.haltedReason = "401"
        }
        let read = GateFile(in: fixture.spool).read(destination: 7)
        #expect(read == again)
        #expect(read.consecutiveFailures == 4)
        #expect(read.reason == "429, Retry-After \"60\"\n\u{1}")
        #expect(read.haltedReason == "401")
        #expect(read.hasDelivered)
        #expect(read.isClosed(atMilliseconds: 1_796_000_059_999))
        #expect(!read.isClosed(atMilliseconds: 1_796_000_060_000))
    }

    @Test func `a pause lasts no longer than was asked for, whatever the clocks of those who write and read it`() throws
    {
        try file.update(destination: 7) { gate in
            gate.closedAtMilliseconds = 1_796_000_000_000
            gate.closedUntilMilliseconds = 1_796_000_060_000
        }
        let gate = file.read(destination: 7)
        #expect(gate.remainingMilliseconds(at: 1_796_000_050_000) == 10_000)
        #expect(gate.remainingMilliseconds(at: 1_796_000_060_001) == 0)
        // A day behind the clock of the one who closed it.
        #expect(gate.remainingMilliseconds(at: 1_795_900_000_000) == 60_000)
        try file.update(destination: 7) { $0.closedAtMilliseconds = 0 }
        #expect(file.read(destination: 7).remainingMilliseconds(at: 1_795_900_000_000) == 3_600_000)
    }

    @Test func `another destination begins with an open road`() throws {
        try file.update(destination: 7) { $0.closedUntilMilliseconds = .max / 2 }
        #expect(!file.read(destination: 8).isClosed(atMilliseconds: 1))
        try file.update(destination: 8) { $0.consecutiveFailures += 1 }
        #expect(file.read(destination: 7) == Gate(destination: 7))
    }

    @Test func `a file that cannot be read says nothing`() throws {
        try file.update(destination: 7) { $0.closedUntilMilliseconds = .max / 2 }
        let bytes = try FileSystem.contents(of: fixture.spool.gate, limit: 1 << 16)
        #expect(bytes.count == 4096)
        let line = try #require(bytes.lastIndex(of: UInt8(ascii: "}"))) + 1
        for length in 0..<line {
            let cut = try File(opening: fixture.spool.gate, O_WRONLY | O_TRUNC)
            try bytes[..<length].withUnsafeBytes { try cut.write($0) }
            #expect(file.current() == nil)
        }
        for bit in 0..<(8 * line) {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << (bit % 8)
            let target = try File(opening: fixture.spool.gate, O_WRONLY | O_TRUNC)
            try damaged.withUnsafeBytes { try target.write($0) }
            #expect(file.current() == nil)
        }
        try FileSystem.remove(fixture.spool.gate)
        #expect(mkfifo(fixture.spool.gate, 0o660) == 0)
        #expect(file.current() == nil)
        try FileSystem.remove(fixture.spool.gate)
        try FileSystem.makeFolder(fixture.spool.gate)
        #expect(file.current() == nil)
    }

    @Test func `a change needs no room and keeps the file`() throws {
        try file.update(destination: 7) { $0.reason = String(repeating: "ü\u{1}", count: 1000) }
        let before = try FileStatus(of: fixture.spool.gate)
        try file.update(destination: 7) { $0.haltedReason = String(repeating: "\u{1}", count: 1000) }
        let after = try FileStatus(of: fixture.spool.gate)
        #expect(after.size == 4096)
        #expect(after.identity == before.identity)
        #expect(file.current()?.reason.hasPrefix("ü\u{1}") == true)
    }

    @Test func `suspects are kept, as many as there is room for`() throws {
        let suspects = (0..<Gate.maximumSuspects).map { number in
            Gate.Suspect(
                place: RecordOrigin(segment: fixture.name(UInt64(number)), frame: 1 << 40, index: number),
                failures: number + 1,
                sinceMilliseconds: 1_796_000_000_000
            )
        }
        try file.update(destination: 7) { $0.suspects = suspects + suspects }
        #expect(file.read(destination: 7).suspects == suspects)
        #expect(file.read(destination: 8).suspects.isEmpty)
        // Long reasons leave room for fewer, and the file keeps its length.
        try file.update(destination: 7) { gate in
            gate.reason = String(repeating: "\u{1}", count: 1000)
            gate.haltedReason = gate.reason
        }
        let left = file.read(destination: 7).suspects
        #expect(left.count < suspects.count && left == Array(suspects.prefix(left.count)))
        #expect(try FileStatus(of: fixture.spool.gate).size == 4096)
    }

    @Test func `no change of two relays is lost`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [spool = fixture.spool] in
                    let file = GateFile(in: spool)
                    for _ in 0..<100 { try file.update(destination: 7) { $0.consecutiveFailures += 1 } }
                }
            }
            try await group.waitForAll()
        }
        #expect(file.read(destination: 7).consecutiveFailures == 400)
    }
}
