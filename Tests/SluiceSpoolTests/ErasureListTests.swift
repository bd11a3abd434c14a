// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct ErasureListTests {
    private let fixture: SpoolFixture
    private let list: ErasureList
    private let now = 1_796_000_000

    init() throws {
        fixture = try SpoolFixture()
        list = ErasureList(in: fixture.spool)
    }

    private var path: String { fixture.spool.erased }

    private func add(_ persons: Person..., until: Int? = nil) throws {
        try list.add(persons, until: until ?? now, clock: fixture.clock.clock)
    }

    /// What another process reads.
    private func read() throws -> ErasureBook {
        let other = ErasureList(in: fixture.spool)
        try other.refresh()
        return other.book
    }

    private func content() throws -> [UInt8] { try FileSystem.contents(of: path, limit: 1 << 24) }

    private func write(_ bytes: some Sequence<UInt8>) throws {
        let file = try File(opening: path, O_WRONLY | O_TRUNC)
        try Array(bytes).withUnsafeBytes { try file.write($0) }
    }

    @Test func `without a file nobody is listed, and nothing is made`() throws {
        #expect(try read().isEmpty)
        #expect(try !list.refresh())
        #expect((try? FileStatus(of: path)) == nil)
    }

    @Test func `a person is listed up to the time, as a user or as an anonymous id`() throws {
        try add(Person(.user, "u-1"))
        let book = try read()
        #expect(book.covers(Person(.user, "u-1"), receivedAt: now))
        #expect(book.covers(Person(.user, "u-1"), receivedAt: .min))
        #expect(!book.covers(Person(.user, "u-1"), receivedAt: now + 1))
        #expect(!book.covers(Person(.anonymous, "u-1"), receivedAt: now))
        #expect(!book.covers(Person(.user, "u-2"), receivedAt: now))
        try add(Person(.user, "u-1"), until: now + 60)
        #expect(try read().covers(Person(.user, "u-1"), receivedAt: now + 60))
        #expect(try read().entries.count == 1)
    }

    @Test func `ids are compared as bytes`() throws {
        try add(Person(.user, "caf\u{E9}"))
        #expect(try read().covers(Person(.user, "caf\u{E9}"), receivedAt: now))
        #expect(try !read().covers(Person(.user, "cafe\u{301}"), receivedAt: now))
    }

    @Test func `the file names nobody, and two spools write one person differently`() throws {
        try add(Person(.user, "somebody-in-particular"), Person(.anonymous, "device-of-somebody"))
        let text = String(decoding: try content(), as: UTF8.self)
        #expect(!text.contains("somebody"))
        #expect(text.hasPrefix("sluice-erased 1 seed="))
        #expect(text.split(separator: "\n").count == 3)
        #expect(try FileStatus(of: path).mode & 0o7777 == 0o660)
        let other = try SpoolFixture()
        try ErasureList(in: other.spool).add([Person(.user, "somebody-in-particular")], until: now)
        let hash = text.split(separator: "\n")[1].split(separator: " ")[3]
        let bytes = try FileSystem.contents(of: other.spool.erased, limit: 1 << 20)
        #expect(!String(decoding: bytes, as: UTF8.self).contains(hash))
    }

    @Test func `a reader notices what others add, replace and remove`() throws {
        let reader = ErasureList(in: fixture.spool)
        try add(Person(.user, "a"))
        #expect(try reader.refresh())
        #expect(try !reader.refresh())
        let generation = reader.generation
        try add(Person(.user, "b"))
        #expect(try reader.refresh())
        #expect(reader.generation > generation)
        #expect(reader.book.entries.count == 2)
        try FileSystem.remove(path)
        #expect(try reader.refresh())
        #expect(reader.book.isEmpty)
    }

    @Test func `lists of many processes become one`() throws {
        let lists = (0..<8).map { _ in ErasureList(in: fixture.spool) }
        let threads = lists.enumerated().map { number, list in
            nonisolated(unsafe) let list = list
            return SystemThread(name: "eraser") {
                for round in 0..<20 { try? list.add([Person(.user, "p\(number)-\(round)")], until: 5) }
            }
        }
        for thread in threads { thread.join() }
        let book = try read()
        for number in 0..<8 {
            for round in 0..<20 { #expect(book.covers(Person(.user, "p\(number)-\(round)"), receivedAt: 5)) }
        }
        #expect(try FileSystem.names(in: fixture.spool.root).allSatisfy { !$0.hasPrefix(".new-") })
    }

    @Test func `a list that is cut anywhere either stops everything or only misses the unfinished line`() throws {
        try add(Person(.user, "a"))
        try add(Person(.user, "b"))
        let bytes = try content()
        let ends = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.map { $0 + 1 }
        for length in 0..<bytes.count {
            try write(bytes[..<length])
            if length < ends[0] {
                let error = #expect(throws: SpoolError.self) { try self.read() }
                #expect(error?.disposition == .stop)
            } else {
                #expect(try read().entries.count == (length < ends[1] ? 0 : 1))
            }
        }
        try write(bytes[..<(bytes.count - 1)])
        try add(Person(.user, "c"))
        let book = try read()
        #expect(book.entries.count == 2)
        #expect(book.covers(Person(.user, "c"), receivedAt: now))
    }

    @Test func `any flipped bit in a whole line stops everything, and is told with its place`() throws {
        try add(Person(.user, "a"))
        try add(Person(.user, "b"))
        let bytes = try content()
        for index in bytes.indices.dropLast() {
            var damaged = bytes
            damaged[index] ^= 1 << UInt8(index % 8)
            try write(damaged)
            let error = #expect(throws: SpoolError.self, "byte \(index)") { try self.read() }
            #expect(error?.disposition == .stop)
        }
        // A flipped line feed at the very end is an unfinished line.
        var damaged = bytes
        damaged[bytes.count - 1] ^= 1
        try write(damaged)
        #expect(try read().entries.count == 1)
    }

    @Test func `a list of a later version stops everything, a line of a later kind does not`() throws {
        func line(_ text: String) -> String {
            let sum = Array(text.utf8).withUnsafeBytes { Checksum.xxh3($0) }
            let digits = String(sum, radix: 16)
            return "\(text) \(String(repeating: "0", count: 16 - digits.count))\(digits)\n"
        }
        try add(Person(.user, "a"))
        try write(content() + Array(line("1796000000 forget-me-not x=1").utf8))
        #expect(try read().entries.count == 1)
        try write(Array(line("sluice-erased 2 seed=0123456789abcdef").utf8))
        let error = #expect(throws: SpoolError.self) { try self.read() }
        #expect(error?.code == .unsupportedVersion)
        #expect(error?.disposition == .stop)
    }

    @Test func `what a killed command left goes when the next file is made`() throws {
        let old = fixture.spool.root + "/.new-erased-0011223344556677"
        let young = fixture.spool.root + "/.new-erased-8899aabbccddeeff"
        for path in [old, young] { _ = try File(opening: path, O_WRONLY | O_CREAT) }
        var times = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, old, &times, 0) == 0)
        try add(Person(.user, "a"))
        #expect((try? FileStatus(of: old)) == nil)
        #expect((try? FileStatus(of: young)) != nil)
    }

    @Test func `a full list takes nobody else and says so`() throws {
        let many = (0..<ErasureList.maximumEntries).map { Person(.user, "p\($0)") }
        try list.add(many, until: now, clock: fixture.clock.clock)
        let before = try content()
        let error = #expect(throws: SpoolError.self) { try add(Person(.user, "one more")) }
        #expect(error?.code == .overloaded)
        #expect(try content() == before)
        try add(Person(.user, "p7"), until: now + 1)
        #expect(try read().covers(Person(.user, "p7"), receivedAt: now + 1))
    }

    @Test func `an entry leaves the list when nothing of it can be left, and a month later`() throws {
        try add(Person(.user, "old"))
        let month = Int64(ErasureList.keptSeconds) * 1000
        fixture.clock.advance(milliseconds: month + 1000)
        let later = now + ErasureList.keptSeconds + 1
        let clock = fixture.clock.clock
        #expect(try list.removeOld(oldestSegmentAt: nil, clock: clock) == 0, "quarantine was not looked at")
        try list.markSwept(at: now + 10)
        #expect(list.book.isSwept)
        #expect(try list.removeOld(oldestSegmentAt: now + 10, clock: clock) == 0, "an older segment waits")
        try add(Person(.user, "new"), until: later)
        #expect(!list.book.isSwept)
        #expect(try list.removeOld(oldestSegmentAt: now + 11, clock: clock) == 1)
        let book = try read()
        #expect(!book.covers(Person(.user, "old"), receivedAt: 0))
        #expect(book.covers(Person(.user, "new"), receivedAt: later))
        #expect(book.sweptAt == now + 10)
        #expect(try FileSystem.names(in: fixture.spool.root).allSatisfy { !$0.hasPrefix(".new-") })
    }
}
