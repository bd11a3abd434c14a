// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// A person in the bytes of a damaged segment, from the drain that finds the damage to the erasure.
struct ErasureDamageTests {
    private static let person = "somebody-in-particular-4711"
    private static let frames = 3
    private static let perFrame = 600

    /// Of each frame's first 100 records every tenth is the person's; a block of 64 KiB holds some more than these.
    private static func record(_ number: Int) -> String {
        let user = number % perFrame < 100 && number % 10 == 7 ? person : "user-of-number-\(number)"
        var state = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
        var noise = ""
        for _ in 0..<24 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            noise += String(state, radix: 36)
        }
        return #"{"received_at":1796000010,"collection":"c","timestamp":1796000000,"trusted":{"user_id":"\#(user)"},"#
            + #""envelope":{"event":"e","event_id":"e-\#(number)","occurred_at":1796000000,"anonymous_id":"a","#
            + #""properties":{"text":"\#(noise)"}}}"#
    }

    enum Damage: CaseIterable {
        case blockByte, magic, countFrame, blockSize, zeros, cut
    }

    /// Seals a segment of some frames and damages the second; returns the offsets of the frames' LZ4 frames.
    private func damage(_ kind: Damage, _ fixture: RelayFixture) throws {
        let name = SegmentName(millisecondsSince1970: 1_796_000_000_000, writer: 77, sequence: 0)
        let file = try SegmentFile(
            creating: name,
            in: fixture.spool.ready,
            as: name.sealedFileName,
            createdAt: 1_796_000_000
        )
        var offsets: [Int] = []
        for frame in 0..<Self.frames {
            var lines = ByteBuffer(capacity: 1 << 20)
            for number in frame * Self.perFrame..<(frame + 1) * Self.perFrame {
                lines.append(Self.record(number))
                lines.append("\n")
            }
            offsets.append(
                try file.append(lines.bytes, records: Self.perFrame, receivedAt: 1_796_000_010...1_796_000_010)
            )
        }
        try Ledger(in: fixture.spool).append([.sealed(name, records: Self.frames * Self.perFrame)])
        try file.finish(footer: kind != .cut)
        let path = fixture.spool.ready(name)
        var bytes = try FileSystem.contents(of: path, limit: 64 << 20)
        let second = offsets[1]
        switch kind {
        case .blockByte: bytes[second + 15 + 4 + 30_000] ^= 0x20
        case .magic: bytes[second] ^= 1
        case .countFrame: bytes[second - 40] ^= 1
        case .blockSize: bytes[second + 15 + 2] ^= 0x40
        case .zeros: for index in second + 20_000..<second + 90_000 { bytes[index] = 0 }
        case .cut: bytes.removeSubrange((offsets[2] - 48 - 20_000)...)
        }
        let damaged = try File(opening: path, O_WRONLY | O_TRUNC)
        try bytes.withUnsafeBytes { try damaged.write($0) }
    }

    private func kept(_ fixture: RelayFixture) throws -> [UInt8] {
        let names = try FileSystem.names(in: fixture.spool.quarantine).filter { $0.hasSuffix(".damaged") }
        return try names.flatMap { try FileSystem.contents(of: "\(fixture.spool.quarantine)/\($0)", limit: 64 << 20) }
    }

    @Test(arguments: Damage.allCases)
    func `the person is found in damaged bytes, and neighbours' blocks stay`(kind: Damage) throws {
        let fixture = try RelayFixture(Upstream())
        try damage(kind, fixture)
        let summary = try fixture.drain()
        let before = try kept(fixture)
        let damaged = summary.counts.damaged
        guard kind != .countFrame else {
            // Only the count frame is lost then, and no record.
            #expect(damaged == 0)
            return
        }
        let lost = kind == .cut ? Self.perFrame * 2 : Self.perFrame
        #expect(damaged == lost)
        let eraser = Eraser(with: QuarantineEditor(in: fixture.spool, ledger: try Ledger(in: fixture.spool)))
        let report = try eraser.run([Person(.user, Self.person)], isDryRun: false)
        // One less where a line was garbled; of what cannot be told apart, those whose text could be made out.
        let isApart = kind == .blockByte || kind == .magic || kind == .cut
        #expect((isApart ? 9...10 : 1...10).contains(report.removedFromDamage), "\(report)")
        let status = try SpoolStatus.read(fixture.spool)
        #expect(status.problems == [])
        #expect(status.counts.erased == report.removed)
        #expect(status.damaged == lost - report.removedFromDamage)
        let after = try kept(fixture)
        #expect(after != before)
        let text = Array(Self.person.utf8)
        #expect(!after.withUnsafeBytes { $0.contains(part: text) })
        // The same again finds nothing, and changes nothing.
        let again = try eraser.run([Person(.user, Self.person)], isDryRun: false)
        #expect(again.removed == 0)
        #expect(try kept(fixture) == after)
        #expect(try SpoolStatus.read(fixture.spool).counts.erased == report.removed)
        // Somebody in another block of the frame is still there.
        guard isApart else { return }
        let other = Person(.user, "user-of-number-\(Self.perFrame + 400)")
        #expect(try eraser.run([other], isDryRun: false).removedFromDamage == 1)
        #expect(try SpoolStatus.read(fixture.spool).counts.erased == report.removed + 1)
        #expect(try SpoolStatus.read(fixture.spool).problems == [])
    }

    @Test func `a dry run finds the same and touches nothing`() throws {
        let fixture = try RelayFixture(Upstream())
        try damage(.blockByte, fixture)
        _ = try fixture.drain()
        let before = try kept(fixture)
        let eraser = Eraser(with: QuarantineEditor(in: fixture.spool, ledger: try Ledger(in: fixture.spool)))
        let rehearsed = try eraser.run([Person(.user, Self.person)], isDryRun: true)
        #expect(try kept(fixture) == before)
        #expect(try eraser.run([Person(.user, Self.person)], isDryRun: false).removed == rehearsed.removed)
    }

    @Test func `damage in a segment that waits is told, and found after the drain`() throws {
        let fixture = try RelayFixture(Upstream())
        try damage(.blockByte, fixture)
        let eraser = Eraser(with: QuarantineEditor(in: fixture.spool, ledger: try Ledger(in: fixture.spool)))
        let before = try eraser.run([Person(.user, Self.person)], isDryRun: false)
        #expect(before.waiting == 20)
        #expect(before.undecided.count == 1)
        let summary = try fixture.drain()
        #expect(summary.counts.erased == 20)
        let after = try eraser.run([Person(.user, Self.person)], isDryRun: false)
        #expect(after.undecided.isEmpty)
        #expect(after.removedFromDamage > 0)
        let status = try SpoolStatus.read(fixture.spool)
        #expect(status.problems == [])
        #expect(status.counts.erased == summary.counts.erased + after.removed)
    }

    @Test(arguments: [Damage.blockSize, .zeros, .cut])
    func `a person who is not found leaves everything as it is, and what cannot be searched is told`(
        kind: Damage
    ) throws {
        let fixture = try RelayFixture(Upstream())
        try damage(kind, fixture)
        _ = try fixture.drain()
        let before = try kept(fixture)
        let eraser = Eraser(with: QuarantineEditor(in: fixture.spool, ledger: try Ledger(in: fixture.spool)))
        let report = try eraser.run([Person(.user, "nobody-of-that-name")], isDryRun: false)
        #expect(report.removed == 0)
        #expect(!report.unreachable.isEmpty)
        #expect(try kept(fixture) == before)
    }
}
