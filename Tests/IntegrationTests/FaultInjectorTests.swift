// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// That faults are injected where rules say so, and that the log tells what happened.
struct FaultInjectorTests {
    private let folder = TemporaryFolder()
    private let injector: FaultInjector

    init() throws {
        injector = try FaultInjector(root: folder.path("root"), record: [.changes])
        try FileSystem.makeFolder(folder.path("root"))
    }

    private func run(_ name: String, _ arguments: String...) throws -> ProcessRunner.Result {
        let path = try #require(Tool.path(of: name))
        return try ProcessRunner().under(injector).run(path, arguments)
    }

    private func copy(_ text: String, to name: String, _ more: String...) throws -> ProcessRunner.Result {
        let source = try folder.write(text, to: "source")
        let path = try #require(Tool.path(of: "dd"))
        let words = ["if=\(source)", "of=\(folder.path("root"))/\(name)", "status=none"] + more
        return try ProcessRunner().under(injector).run(path, words)
    }

    private func content(_ name: String) throws -> String {
        String(decoding: try FileSystem.contents(of: "\(folder.path("root"))/\(name)", limit: 1 << 20), as: UTF8.self)
    }

    @Test func `the log holds every change in order, with the bytes`() throws {
        let root = folder.path("root")
        #expect(try run("mkdir", "\(root)/a").code == 0)
        #expect(try copy("one\ntwo\n", to: "a/x y", "bs=4", "conv=fsync").code == 0)
        #expect(try run("mv", "\(root)/a/x y", "\(root)/z").code == 0)
        #expect(try run("sync", "\(root)/a").code == 0)
        #expect(try run("rm", "\(root)/z").code == 0)
        #expect(try run("rmdir", "\(root)/a").code == 0)
        let entries = try injector.log().entries
        #expect(
            entries.map { [$0.operation.rawValue, $0.path, $0.target ?? "-"] } == [
                ["mkdir", "a", "-"],
                ["create", "a/x y", "-"],
                ["write", "a/x y", "-"],
                ["write", "a/x y", "-"],
                ["fsync", "a/x y", "-"],
                ["rename", "a/x y", "z"],
                ["syncfolder", "a", "-"],
                ["unlink", "z", "-"],
                ["rmdir", "a", "-"],
            ]
        )
        #expect(entries.filter { $0.operation == .write }.map(\.offset) == [0, 4])
        #expect(
            entries.filter { $0.operation == .write }.map { Array($0.bytes) } == [
                Array("one\n".utf8), Array("two\n".utf8),
            ]
        )
        let file = entries[1].inode
        #expect(file != 0 && entries[1...5].allSatisfy { $0.inode == file } && entries[7].inode == file)
    }

    @Test func `calls fail where a rule says so, until it is taken back`() throws {
        try injector.set("fsync x* 1 fail=EIO", "create y * fail=ENOSPC")
        #expect(try copy("a", to: "x", "conv=fsync").code == 1)
        #expect(try copy("a", to: "y").errors.contains("No space left on device"))
        #expect(try copy("a", to: "elsewhere", "conv=fsync").code == 0)
        #expect(
            try injector.log().faults.map { [$0.path, $0.target] } == [
                ["x", "fsync:fail=EIO"], ["y", "create:fail=ENOSPC"],
            ]
        )
        try injector.clear()
        #expect(try copy("a", to: "y", "conv=fsync").code == 0)
    }

    @Test func `writes can be short, torn and interrupted`() throws {
        try injector.set("write x 1 short=3", "write x 2 fail=EINTR")
        // dd writes the rest, and begins anew after the interruption.
        #expect(try copy("abcdefgh", to: "x").code == 0)
        #expect(try content("x") == "abcdefgh")
        try injector.set("write x * torn=5")
        #expect(try copy("abcdefgh", to: "x").code == 128 + SIGKILL)
        #expect(try content("x") == "abcde")
    }

    @Test(arguments: [("kill", false), ("kill-after", true)])
    func `a program is killed before or after a call`(action: String, isMade: Bool) throws {
        try folder.write("", to: "root/x")
        try injector.set("rename x>y 1 \(action)")
        #expect(try run("mv", folder.path("root/x"), folder.path("root/y")).code == 128 + SIGKILL)
        #expect(try FileSystem.names(in: folder.path("root")) == [isMade ? "y" : "x"])
        #expect(try injector.log().entries.contains { $0.operation == .rename } == isMade)
    }

    @Test func `a call can be late`() throws {
        try injector.set("mkdir a * delay=200")
        let start = SystemClock.system.monotonicNanoseconds()
        #expect(try run("mkdir", folder.path("root/a")).code == 0)
        #expect(SystemClock.system.monotonicNanoseconds() - start >= 200_000_000)
    }

    @Test(arguments: ["wirte * * fail=EIO", "write * 0 fail=EIO", "write * * fail=EWHAT", "write *"])
    func `a rule with a fault ends the program, for it would prove nothing`(rule: String) throws {
        try injector.set(rule)
        #expect(try run("mkdir", folder.path("root/a")).code == 70)
    }
}
