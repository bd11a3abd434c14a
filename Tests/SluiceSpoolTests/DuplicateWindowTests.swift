// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct DuplicateWindowTests {
    let fixture: SpoolFixture

    init() throws { fixture = try SpoolFixture() }

    private func open(destination: UInt64 = 1, capacity: Int = 1000) throws -> DuplicateWindow {
        try DuplicateWindow.open(in: fixture.spool, destination: destination, capacity: capacity)
    }

    private func fingerprint(_ number: Int, _ seed: UInt64) -> UInt64 {
        withUnsafeBytes(of: number) { DuplicateWindow.fingerprint($0, seed: seed) }
    }

    @Test func `an event is known by its fingerprint and told apart by its origin`() throws {
        let window = try open()
        #expect(window.lookup(5, origin: 1) == .absent)
        window.insert(5, origin: 1)
        #expect(window.lookup(5, origin: 1) == .sameOrigin)
        #expect(window.lookup(5, origin: 2) == .otherOrigin)
        #expect(window.lookup(6, origin: 1) == .absent)
        window.insert(5, origin: 2)
        #expect(window.lookup(5, origin: 1) == .sameOrigin)
        #expect(window.count == 1)
    }

    @Test func `relays share it, and it outlives them`() throws {
        let window = try open()
        let other = try open()
        #expect(window.seed == other.seed)
        window.insert(5, origin: 1)
        #expect(other.lookup(5, origin: 1) == .sameOrigin)
        other.insert(6, origin: 0)
        #expect(window.lookup(6, origin: 0) == .sameOrigin)
        #expect(try open().lookup(6, origin: 1) == .otherOrigin)
    }

    @Test func `what a killed process inserted is there`() async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [root = fixture.spool.root as String] in
            let spool = try SpoolFolder.open(root, role: .relay)
            let window = try DuplicateWindow.open(in: spool, destination: 1, capacity: 1000)
            for number in 1...500 { window.insert(UInt64(number) << 40, origin: UInt32(number)) }
            kill(getpid(), SIGKILL)
        }
        let window = try open()
        for number in 1...500 { #expect(window.lookup(UInt64(number) << 40, origin: UInt32(number)) == .sameOrigin) }
    }

    @Test func `the last generation is always known, and old ones are forgotten`() throws {
        let window = try open(capacity: 1000)
        for number in 0..<5000 {
            window.insert(fingerprint(number, window.seed), origin: UInt32(number))
            for age in [0, 1, 500, 999] where number >= age {
                let old = number - age
                #expect(window.lookup(fingerprint(old, window.seed), origin: UInt32(old)) == .sameOrigin)
            }
            #expect(window.count <= 2000)
        }
        #expect(window.lookup(fingerprint(0, window.seed), origin: 0) == .absent)
        for number in 5000..<20_000 { #expect(window.lookup(fingerprint(number, window.seed), origin: 0) == .absent) }
    }

    @Test func `another destination or another size begins anew`() throws {
        let window = try open()
        window.insert(5, origin: 1)
        let other = try open(destination: 2)
        #expect(other.lookup(5, origin: 1) == .absent)
        #expect(other.seed != window.seed)
        other.insert(9, origin: 1)
        #expect(try open(destination: 2, capacity: 2000).lookup(9, origin: 1) == .absent)
    }

    @Test func `a file that is not one is replaced`() throws {
        for content in ["", "short", String(repeating: "x", count: 100_000)] {
            _ = try FileSystem.removeIfPresent(fixture.spool.duplicates)
            try fixture.folder.write(content, to: "spool/duplicates")
            let window = try open()
            window.insert(5, origin: 1)
            #expect(try open().lookup(5, origin: 1) == .sameOrigin)
        }
        try FileSystem.remove(fixture.spool.duplicates)
        try fixture.folder.write("precious", to: "outside")
        #expect(symlink(fixture.folder.path("outside"), fixture.spool.duplicates) == 0)
        _ = try open()
        #expect(try FileSystem.contents(of: fixture.folder.path("outside"), limit: 100) == Array("precious".utf8))
    }

    @Test func `one that was left half made takes no room for long`() throws {
        try fixture.folder.write("half of it", to: "spool/.new-duplicates-0123456789abcdef")
        _ = try open()
        #expect(try !FileSystem.names(in: fixture.spool.root).contains { $0.hasPrefix(".new-") })
    }

    @Test func `all of its room is reserved`() throws {
        _ = try open(capacity: 100_000)
        let status = try FileStatus(of: fixture.spool.duplicates)
        #expect(status.allocated >= status.size)
    }

    @Test(.enabled(if: canMount, "needs root, to mount"))
    func `without room there is an error, not a signal`() throws {
        let folder = TemporaryFolder()
        try #require(run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder.path]) == 0)
        defer { _ = run(["umount", folder.path]) }
        let spool = try SpoolFolder.open(folder.path, role: .relay)
        let error = #expect(throws: SpoolError.self) { try DuplicateWindow.open(in: spool, destination: 1) }
        #expect(error?.code == .outOfSpace)
        #expect(try !FileSystem.names(in: folder.path).contains { $0.contains("duplicates") })
        let small = try DuplicateWindow.open(in: spool, destination: 1, capacity: 10_000)
        let filler = try File(opening: folder.path("filler"), O_WRONLY | O_CREAT)
        #expect(throws: SystemError.self) {
            while true { try [UInt8](repeating: 1, count: 4096).withUnsafeBytes { try filler.write($0) } }
        }
        for number in 0..<30_000 { small.insert(fingerprint(number, small.seed), origin: 1) }
        #expect(small.lookup(fingerprint(29_999, small.seed), origin: 1) == .sameOrigin)
    }

    @Test(arguments: [0, 1, 4096, 20_000])
    func `a file that is cut off under a window makes it an empty one, not a signal`(length: Int) throws {
        let window = try open()
        for number in 0..<500 { window.insert(fingerprint(number, window.seed), origin: 1) }
        #expect(window.isInPlace)
        try File(opening: fixture.spool.duplicates, O_WRONLY).truncate(to: length)
        #expect(!window.isInPlace)
        // Every place is read and written, those behind the new end too.
        for number in 0..<2000 {
            _ = window.lookup(fingerprint(number, window.seed), origin: 1)
            window.insert(fingerprint(number, window.seed), origin: 1)
        }
        let again = try open()
        #expect(again.isInPlace)
        #expect(again.lookup(fingerprint(7, again.seed), origin: 1) == .absent)
        again.insert(5, origin: 1)
        #expect(again.lookup(5, origin: 1) == .sameOrigin)
    }

    @Test func `a file that is cut off is no signal on a thread that takes none either`() async throws {
        let window = try open()
        let path = fixture.spool.duplicates
        let found = try await onThread {
            try File(opening: path, O_WRONLY).truncate(to: 0)
            return window.lookup(1, origin: 1)
        }
        #expect(found == .absent)
        #expect(!window.isInPlace)
    }

    @Test func `a window whose file was removed or replaced is not in its place`() throws {
        let window = try open()
        try FileSystem.remove(fixture.spool.duplicates)
        #expect(!window.isInPlace)
        let other = try open()
        #expect(other.isInPlace && !window.isInPlace)
    }

    // Not only by the signal: Thread Sanitizer makes an exit of it.
    @Test func `a bus error elsewhere still ends the process`() async throws {
        await #expect(processExitsWith: .failure) { [root = fixture.spool.root as String] in
            let spool = try SpoolFolder.open(root, role: .relay)
            let window = try DuplicateWindow.open(in: spool, destination: 1, capacity: 1000)
            let file = try File(opening: "\(root)/other", O_RDWR | O_CREAT)
            try file.truncate(to: 4096)
            let memory = mmap(nil, 4096, PROT_READ, MAP_SHARED, file.descriptor, 0)
            try file.truncate(to: 0)
            let byte = memory?.load(as: UInt8.self)
            print(byte as Any, window.count)
        }
    }

    @Test func `a reader knows what the relays know`() throws {
        #expect(DuplicateWindow.openForReading(in: fixture.spool) == nil)
        let window = try open(destination: 9)
        window.insert(5, origin: 1)
        let reader = try #require(DuplicateWindow.openForReading(in: fixture.spool))
        #expect(reader.seed == window.seed)
        #expect(reader.lookup(5, origin: 1) == .sameOrigin)
        window.insert(6, origin: 1)
        #expect(reader.lookup(6, origin: 1) == .sameOrigin)
        try File(opening: fixture.spool.duplicates, O_WRONLY).truncate(to: 100)
        #expect(reader.lookup(5, origin: 1) == .absent)
        #expect(DuplicateWindow.openForReading(in: fixture.spool) == nil)
    }

    @Test func `threads that insert while one rotates lose nothing`() async throws {
        let window = try open(capacity: 12_000)
        @Sendable func print(_ event: Int) -> UInt64 {
            withUnsafeBytes(of: event) { DuplicateWindow.fingerprint($0, seed: window.seed) }
        }
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    for number in 0..<5000 {
                        let event = number * 4 + thread
                        window.insert(print(event), origin: UInt32(event))
                    }
                }
            }
        }
        let found = (0..<20_000).count { window.lookup(print($0), origin: UInt32($0)) == .sameOrigin }
        #expect(found == 20_000)
    }
}
