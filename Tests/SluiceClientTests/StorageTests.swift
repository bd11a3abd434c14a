// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceSystem
import SluiceTestSupport
import Testing

/// Case C84, and what disks do.
struct StorageTests {
    private let fixture: ClientFixture

    init() throws { fixture = try ClientFixture() }

    /// Fills the file, ends the client, and gives the bytes of the file with everything in it.
    private func filled(_ count: Int) async throws -> [UInt8] {
        let client = try await fixture.consented()
        for number in 0..<count {
            await client.track(
                "tapped",
                ["text": .string(String(repeating: "a", count: 500)), "number": .integer(number)]
            )
        }
        try Database(fixture.file, creates: false).run("PRAGMA wal_checkpoint(TRUNCATE)")
        return try FileSystem.contents(of: fixture.file, limit: 1 << 24)
    }

    private func replace(_ bytes: [UInt8]) throws {
        for end in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: fixture.file + end) }  // may be gone
        try Data(bytes).write(to: URL(fileURLWithPath: fixture.file))
    }

    private var setAside: [String] {
        get throws {
            try FileSystem.names(in: fixture.folder.path("client")).filter { $0.hasSuffix(".damaged") }
        }
    }

    private static let damages: [(name: String, change: @Sendable (inout [UInt8]) -> Void)] = [
        ("zeroed header", { bytes in for index in 0..<100 { bytes[index] = 0 } }),
        ("cut file", { $0.removeLast($0.count / 3) }),
        ("no database at all", { $0 = Array("what is this".utf8) + [UInt8](repeating: 7, count: 5000) }),
        ("zeroed page", { bytes in for index in 8192..<12288 { bytes[index] = 0 } }),
        ("flipped bits in the middle", { bytes in for index in 20_000..<20_400 { bytes[index] ^= 0x5A } }),
        ("flipped schema", { bytes in for index in 110..<400 { bytes[index] ^= 0xFF } }),
    ]

    @Test(arguments: damages.indices)
    func `a damaged file is set aside once, what can be read is saved, and the client goes on`(number: Int) async throws
    {
        var bytes = try await filled(200)
        Self.damages[number].change(&bytes)
        try replace(bytes)
        let client = try fixture.launch()
        // What was consented to may be lost with the file: then the app has to say it again.
        if await client.track("first").eventID == nil { try await client.setConsent([.analytics]) }
        for _ in 0..<3 { await client.track("after") }
        for _ in 0..<20 {
            await client.flush()
            fixture.waitOut()
        }
        let id = try #require(await client.track("last").eventID)
        #expect(await client.flush().accepted == 1)
        #expect(fixture.endpoint.batches.last == [id])
        #expect(await client.diagnostics().storageProblem == nil)
        let delivered = Set(fixture.endpoint.batches.flatMap { $0 })
        let isAside = try !setAside.isEmpty
        if isAside {
            let lost = fixture.endpoint.requests.reduce(0) { $0 + ($1.drops["corrupt"] ?? 0) }
            #expect(lost > 0 || delivered.count >= 204, "lost: \(lost)")
        }
        // No byte was sent that is not an event as it was tracked.
        for request in fixture.endpoint.requests { #expect(request.ids.count == request.events.count) }
    }

    @Test func `events in good pages are saved from a file with a damaged one`() async throws {
        var bytes = try await filled(200)
        let middle = bytes.count / 2 / 4096 * 4096
        for index in middle..<middle + 4096 { bytes[index] = 0xA5 }
        try replace(bytes)
        let client = try fixture.launch()
        for _ in 0..<20 {
            await client.flush()
            fixture.waitOut()
        }
        #expect(try setAside.count == 1)
        let delivered = Set(fixture.endpoint.batches.flatMap { $0 })
        #expect((150..<200).contains(delivered.count), "\(delivered.count)")
        await client.track("tapped")
        await client.flush()
        let lost = fixture.endpoint.requests.last?.drops["corrupt"] ?? 0
        let before = fixture.endpoint.requests.dropLast().reduce(0) { max($0, $1.drops["corrupt"] ?? 0) }
        #expect(max(lost, before) == 200 - delivered.count)
    }

    @Test func `an empty file, a log without its database and a database without its log are no damage`() async throws {
        _ = try await filled(10)
        let (file, log) = try await liveFiles()
        try replace(file)
        #expect(await (try fixture.launch()).track("tapped").eventID != nil)
        try replace([])
        #expect(await (try fixture.consented()).track("tapped").eventID != nil)
        try replace([])
        try FileManager.default.removeItem(atPath: fixture.file)
        try Data(log).write(to: URL(fileURLWithPath: fixture.file + "-wal"))
        #expect(await (try fixture.consented()).track("tapped").eventID != nil)
        #expect(try setAside.isEmpty)
    }

    /// The file and its log as they are while a client works.
    private func liveFiles() async throws -> (file: [UInt8], log: [UInt8]) {
        let client = try fixture.launch()
        await client.track("in_the_log")
        let log = try FileSystem.contents(of: fixture.file + "-wal", limit: 1 << 24)
        let file = try FileSystem.contents(of: fixture.file, limit: 1 << 24)
        #expect(await client.diagnostics().queuedEvents == 11)
        return (file, log)
    }

    @Test func `a file that cannot be opened keeps events in memory, bounded, and writes them when it can be`()
        async throws
    {
        try FileManager.default.createDirectory(atPath: fixture.file, withIntermediateDirectories: true)
        let client = try fixture.launch()
        await #expect(throws: SluiceError.self) { try await client.setConsent([.analytics]) }
        for number in 0..<1003 {
            let result = await client.track("tapped")
            #expect((result.eventID != nil) == (number < 1000))
        }
        let seen = await client.diagnostics()
        #expect(seen.heldEvents == 1000 && seen.storageProblem != nil && seen.drops == [.storage: 3])
        #expect(await client.flush().end == .storageFailed)
        try FileManager.default.removeItem(atPath: fixture.file)
        fixture.clock.advance(milliseconds: 1001)
        #expect(await client.flush().accepted == 1000)
        #expect(fixture.endpoint.requests.first?.drops == ["storage": 3])
    }

    @Test func `a file that another process holds delays an event and loses none`() async throws {
        let client = try await fixture.consented()
        let other = try Database(fixture.file, creates: false)
        try other.run("BEGIN IMMEDIATE")
        let held = await client.track("tapped")
        guard case .held(let id) = held else {
            Issue.record("\(held)")
            return
        }
        try other.run("COMMIT")
        fixture.clock.advance(milliseconds: 1001)
        await client.track("tapped")
        await client.flush()
        #expect(fixture.endpoint.batches.first?.count == 2)
        #expect(fixture.endpoint.batches.first?.first == id)
    }

    @Test func `an answer that cannot be written down is kept, and nothing more is sent before it is`() async throws {
        let path = Lock("")
        let holder = Lock<Database?>(nil)
        let fixture = try ClientFixture(
            FakeEndpoint { number, request in
                let file = path.withLock { $0 }
                guard number == 0 else { return .accepting(request.ids) }
                try holder.withLock { held in
                    let database = try Database(file, creates: false)
                    try database.run("BEGIN IMMEDIATE")
                    held = database
                }
                return .accepting(request.ids)
            }
        )
        path.withLock { $0 = fixture.file }
        let client = try await fixture.consented()
        await client.track("a")
        for _ in 0..<3 { #expect(await client.flush().end == .storageFailed) }
        #expect(fixture.endpoint.requests.count == 1)
        holder.withLock { $0 = nil }
        fixture.clock.advance(milliseconds: 1001)
        let id = try #require(await client.track("b").eventID)
        #expect(await client.flush().accepted == 1)
        #expect(fixture.endpoint.batches.last == [id])
        #expect(try fixture.queued().isEmpty)
    }

    @Test func `a newer library's file is left as it is`() async throws {
        _ = try await filled(3)
        try Database(fixture.file, creates: false).run("PRAGMA user_version = 99")
        let client = try fixture.launch()
        #expect(await client.track("tapped").eventID == nil)
        #expect(await client.diagnostics().storageProblem?.contains("version 99") == true)
        #expect(try fixture.queued().count == 3)
        #expect(try setAside.isEmpty)
    }

    @Test func `a file that is deleted under a running client takes consent and identity with it`() async throws {
        let client = try await fixture.consented()
        await client.track("a")
        for end in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: fixture.file + end) }
        #expect(await client.track("b").eventID == nil)
        #expect(!FileManager.default.fileExists(atPath: fixture.file))
        #expect(await client.diagnostics().anonymousID == nil)
        try await client.setConsent([.analytics])
        let id = try #require(await client.track("c").eventID)
        #expect(try fixture.queued().first?.contains(id) == true)
    }

    @Test func `a file that another process has put in the place of the old one is used`() async throws {
        let client = try await fixture.consented()
        await client.track("a")
        for end in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: fixture.file + end) }
        try await (try fixture.launch()).setConsent([.analytics])
        let id = try #require(await client.track("b").eventID)
        #expect(try fixture.queued().first?.contains(id) == true)
    }
}
