// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct ClaimsTests {
    let fixture: SpoolFixture

    init() throws { fixture = try SpoolFixture() }

    private var spool: SpoolFolder { fixture.spool }

    private func start() throws -> Worker { try Worker.start(in: spool, clock: fixture.clock.clock) }

    @Test func `segments are claimed oldest first`() throws {
        let names = try (0..<5).map { _ in try fixture.addSegment() }
        let worker = try start()
        for name in names {
            let claim = try #require(try worker.claimNext())
            #expect(claim.segment == name)
            #expect(!claim.isAdopted)
            #expect(try FileStatus(of: claim.path).isRegularFile)
        }
        #expect(try worker.claimNext() == nil)
        #expect(try fixture.names(.ready).isEmpty)
    }

    @Test func `segments that come later are seen when the listing is used up`() throws {
        let worker = try start()
        #expect(try worker.claimNext() == nil)
        let name = try fixture.addSegment()
        #expect(try worker.claimNext()?.segment == name)
    }

    @Test func `two workers never claim the same`() throws {
        for _ in 0..<40 { try fixture.addSegment(records: 1) }
        let workers = [try start(), try start()]
        var claimed: [SegmentName] = []
        var isDone = [false, false]
        var turn = 0
        while isDone != [true, true] {
            if let claim = try workers[turn].claimNext() { claimed.append(claim.segment) } else { isDone[turn] = true }
            turn = 1 - turn
        }
        #expect(claimed.count == 40)
        #expect(Set(claimed).count == 40)
    }

    @Test func `a lock is held before its folder shows`() throws {
        let worker = try start()
        let path = "\(spool.claimed)/\(worker.name)/lock"
        let file = try File(opening: path, O_RDWR)
        #expect(try !file.tryLock())
        #expect(worker.isStillHeld)
        #expect(try fixture.names(.claimed) == [worker.name])
    }

    @Test func `a closed worker puts its claims back and leaves no folder`() throws {
        let names = try (0..<3).map { _ in try fixture.addSegment() }
        let worker = try start()
        for _ in 0..<2 { _ = try worker.claimNext() }
        #expect(try worker.close() == 2)
        #expect(try fixture.names(.claimed).isEmpty)
        #expect(try fixture.names(.ready) == names.map(\.sealedFileName))
        #expect(throws: SpoolError.self) { try worker.claimNext() }
    }

    @Test func `a living worker's claims are left alone`() throws {
        try fixture.addSegment()
        let other = try start()
        _ = try other.claimNext()
        let worker = try start()
        #expect(try worker.adoptOrphans() == 0)
        #expect(try worker.claimNext() == nil)
        #expect(try worker.othersHoldClaims())
        #expect(other.isStillHeld)
    }

    @Test func `the claims of a killed worker are adopted`() async throws {
        let names = try (0..<3).map { _ in try fixture.addSegment() }
        await #expect(processExitsWith: .signal(SIGKILL)) { [root = fixture.spool.root as String] in
            let worker = try Worker.start(in: try SpoolFolder.open(root, role: .relay))
            for _ in 0..<2 { _ = try worker.claimNext() }
            kill(getpid(), SIGKILL)
        }
        let worker = try start()
        #expect(try worker.adoptOrphans() == 2)
        #expect(try fixture.names(.claimed) == [worker.name])
        let claims = try (0..<3).compactMap { _ in try worker.claimNext() }
        #expect(claims.map(\.segment) == names)
        #expect(claims.map(\.isAdopted) == [true, true, false])
        #expect(try !worker.othersHoldClaims())
    }

    @Test func `a worker whose lock file is gone stops and is adopted`() throws {
        try fixture.addSegment()
        let other = try start()
        let claim = try #require(try other.claimNext())
        try FileSystem.remove("\(spool.claimed)/\(other.name)/lock")
        #expect(!other.isStillHeld)
        let error = #expect(throws: SpoolError.self) { try other.claimNext() }
        #expect(error?.code == .lockLost)
        #expect(error?.disposition == .stop)
        let worker = try start()
        #expect(try worker.adoptOrphans() == 1)
        #expect(try worker.claimNext()?.segment == claim.segment)
        // The old holder finds nothing of its own any more, and takes nothing away.
        #expect(try !other.release(claim.segment))
        #expect(try other.close() == 0)
        #expect(try FileStatus(of: worker.path(of: claim.segment)).isRegularFile)
    }

    @Test func `a lock file that was replaced counts as lost`() throws {
        let worker = try start()
        let path = "\(spool.claimed)/\(worker.name)/lock"
        try FileSystem.remove(path)
        _ = try File(opening: path, O_RDWR | O_CREAT | O_EXCL)
        #expect(!worker.isStillHeld)
    }

    /// Case C95.
    @Test func `a child inherits neither the lock nor any other file of the spool`() throws {
        let worker = try start()
        let output = fixture.folder.path("descriptors")
        #expect(run(["sh", "-c", "ls -l /proc/self/fd > '\(output)'"]) == 0)
        let text = String(decoding: try FileSystem.contents(of: output, limit: 1 << 20), as: UTF8.self)
        #expect(text.contains("descriptors"))
        #expect(!text.contains(spool.root))
        #expect(worker.isStillHeld)
    }

    @Test func `folders that never came into place are tidied away when they are old`() throws {
        try FileSystem.makeFolder("\(spool.claimed)/.new-1-abc")
        _ = try File(opening: "\(spool.claimed)/.new-1-abc/lock", O_RDWR | O_CREAT | O_EXCL)
        // The clock of the test stands far in the future.
        fixture.clock.stepWall(milliseconds: Int64(time(nil)) * 1000 - fixture.clock.clock.wallMilliseconds())
        let worker = try start()
        try worker.adoptOrphans()
        #expect(try fixture.names(.claimed).contains(".new-1-abc"))
        fixture.clock.advance(milliseconds: 120_000)
        try worker.adoptOrphans()
        #expect(try !fixture.names(.claimed).contains(".new-1-abc"))
    }

    @Test func `a released segment is claimed again`() throws {
        try fixture.addSegment()
        let name = try fixture.addSegment()
        let worker = try start()
        let first = try #require(try worker.claimNext())
        #expect(try worker.release(first.segment))
        #expect(try worker.claimNext()?.segment == first.segment)
        #expect(try worker.claimNext()?.segment == name)
    }

    @Test func `a taken name is never overwritten`() throws {
        let name = try fixture.addSegment()
        let worker = try start()
        _ = try worker.claimNext()
        try fixture.folder.write("mine", to: "spool/ready/\(name.sealedFileName)")
        let error = #expect(throws: SpoolError.self) { try worker.release(name) }
        #expect(error?.code == .nameTaken)
        #expect(try FileSystem.contents(of: spool.ready(name), limit: 100) == Array("mine".utf8))
        #expect(try FileStatus(of: worker.path(of: name)).isRegularFile)
    }

    @Test func `removing takes the segment, then its progress`() throws {
        let name = try fixture.addSegment()
        let worker = try start()
        _ = try worker.claimNext()
        try Progress(of: name, in: spool).append([ProgressEntry(frame: 0, first: 0, outcome: .delivered)])
        try worker.remove(name)
        #expect(try fixture.names(.progress).isEmpty)
        #expect(try worker.close() == 0)
        #expect(try fixture.names(.claimed).isEmpty)
    }

    /// Cases C38 and C45.
    @Test func `what is no segment is left alone and told once`() throws {
        let good = try fixture.addSegment()
        try fixture.folder.write("secret", to: "outside")
        let outside = fixture.folder.path("outside")
        let ready = spool.ready
        #expect(symlink(outside, "\(ready)/\(fixture.name(100).sealedFileName)") == 0)
        #expect(symlink("\(ready)/none", "\(ready)/\(fixture.name(101).sealedFileName)") == 0)
        #expect(mkfifo("\(ready)/\(fixture.name(102).sealedFileName)", 0o660) == 0)
        try FileSystem.makeFolder("\(ready)/\(fixture.name(103).sealedFileName)")
        #expect(link(outside, "\(ready)/\(fixture.name(104).sealedFileName)") == 0)
        for name in [".nfs0001", "x.lz4~", ".x.swp", "x.lz4.tmp", "with\nnewline", String(repeating: "n", count: 255)] {
            try fixture.folder.write("x", to: "spool/ready/\(name)")
        }
        try FileSystem.makeFolder("\(ready)/lost+found")
        let bytes: [CChar] = Array("\(ready)/".utf8CString.dropLast()) + [-1, -2, 0]
        #expect(close(open(bytes, O_CREAT | O_WRONLY, 0o660)) == 0)
        let worker = try start()
        #expect(try worker.claimNext()?.segment == good)
        #expect(try worker.claimNext() == nil)
        let ignored = worker.takeIgnored()
        #expect(ignored.count == 13)
        var reasons: [IgnoredFile.Reason: Int] = [:]
        for file in ignored { reasons[file.reason, default: 0] += 1 }
        #expect(reasons == [.symbolicLink: 2, .specialFile: 1, .folder: 1, .hardLink: 1, .foreignName: 8])
        #expect(try worker.claimNext() == nil)
        #expect(worker.takeIgnored().isEmpty)
        #expect(worker.ignoredCount == 13)
        #expect(try FileSystem.contents(of: outside, limit: 100) == Array("secret".utf8))
        #expect(try fixture.names(.ready).count == 13)
    }

    @Test func `a segment of a later version is set aside for good`() throws {
        let name = try fixture.addSegment()
        let worker = try start()
        _ = try worker.claimNext()
        try worker.setAside(name, reason: .laterVersion)
        #expect(try worker.claimNext() == nil)
        #expect(worker.takeIgnored().map(\.reason) == [.laterVersion])
        #expect(try fixture.names(.ready) == [name.sealedFileName])
    }

    @Test func `a segment that was set aside is tried again after a minute, one of a later version never`() throws {
        let (unreadable, later) = (try fixture.addSegment(), try fixture.addSegment())
        let worker = try start()
        for _ in 0..<2 { _ = try worker.claimNext() }
        try worker.setAside(unreadable, reason: .unreadable)
        try worker.setAside(later, reason: .laterVersion)
        #expect(try worker.claimNext() == nil)
        fixture.clock.advance(milliseconds: 61_000)
        #expect(try worker.claimNext()?.segment == unreadable)
        #expect(try worker.claimNext() == nil)
    }

    /// Cases C45 and C69.
    @Test func `claims behind a lock that is none are taken over, and what stood there harms nobody`() throws {
        let outside = try fixture.folder.write("precious", to: "outside")
        let kinds: [(name: String, make: (String) throws -> Void)] = [
            ("empty", { try FileSystem.makeFolder($0) }),
            (
                "full",
                {
                    try FileSystem.makeFolder($0)
                    try FileSystem.makeFolder("\($0)/inner")
                }
            ),
            ("link", { #expect(symlink(outside, $0) == 0) }), ("dangling", { #expect(symlink("/nowhere", $0) == 0) }),
            ("fifo", { #expect(mkfifo($0, 0o660) == 0) }), ("missing", { _ in }),
        ]
        for (name, make) in kinds {
            try FileSystem.makeFolder("\(spool.claimed)/\(name)", mode: 0o770)
            try make("\(spool.claimed)/\(name)/lock")
            let segment = try fixture.addSegment()
            try FileSystem.move(spool.ready(segment), to: spool.claimed(segment, by: name))
        }
        let worker = try start()
        #expect(try worker.adoptOrphans() == kinds.count)
        #expect(
            worker.takeIgnored().map(\.path)
                == ["dangling", "empty", "fifo", "full", "link"].map { "\(spool.claimed)/\($0)/lock" }
        )
        #expect(try worker.adoptOrphans() == 0)
        // Only a folder with something in it is left.
        #expect(try fixture.names(.claimed).sorted() == [worker.name, "full"].sorted())
        #expect(try FileSystem.contents(of: outside, limit: 100) == Array("precious".utf8))
    }

    @Test func `a living worker whose lock was replaced by a folder stops and is taken over`() throws {
        let segment = try fixture.addSegment()
        let other = try start()
        _ = try other.claimNext()
        try FileSystem.remove("\(spool.claimed)/\(other.name)/lock")
        try FileSystem.makeFolder("\(spool.claimed)/\(other.name)/lock")
        #expect(!other.isStillHeld)
        let worker = try start()
        #expect(try worker.adoptOrphans() == 1)
        #expect(try worker.claimNext()?.segment == segment)
        #expect(throws: SpoolError.self) { try other.claimNext() }
        #expect(try other.close() == 0)
    }

    @Test(.enabled(if: Immutable.isPossible, "no file can be made immutable here"))
    func `a segment that cannot be moved does not stop the others`() throws {
        let names = try (0..<3).map { _ in try fixture.addSegment() }
        let immutable = try #require(Immutable(spool.ready(names[0])))
        let worker = try start()
        #expect(try worker.claimNext()?.segment == names[1])
        #expect(try worker.claimNext()?.segment == names[2])
        #expect(try worker.claimNext() == nil)
        #expect(worker.takeIgnored().map(\.reason) == [.unreadable])
        immutable.end()
        fixture.clock.advance(milliseconds: 61_000)
        #expect(try worker.claimNext()?.segment == names[0])
    }
}

/// A file that nobody may move or remove, as `chattr +i` makes it.
private final class Immutable {
    static let isPossible: Bool = {
        let folder = TemporaryFolder()
        return (try? folder.write("", to: "file")).flatMap { Immutable($0) } != nil  // no file, no attribute
    }()

    private let path: String

    init?(_ path: String) {
        self.path = path
        guard (try? Tool.run("chattr", "+i", path))?.code == 0 else { return nil }  // not installed, or not here
    }

    func end() { _ = try? Tool.run("chattr", "-i", path) }  // the folder then stays behind

    deinit { end() }
}
