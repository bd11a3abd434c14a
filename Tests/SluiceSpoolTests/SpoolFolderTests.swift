// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct SpoolFolderTests {
    let folder = TemporaryFolder()

    private func mode(_ path: String) throws -> UInt32 { try FileStatus(of: path).mode & 0o7777 }

    /// Case C48.
    @Test(arguments: [0o000, 0o022, 0o077, 0o777] as [mode_t])
    func `modes are the same whatever the umask`(mask: mode_t) async throws {
        // A process of its own: the mask is the whole process's.
        await #expect(processExitsWith: .success) { [mask = mask as mode_t, path = folder.path("spool") as String] in
            umask(mask)
            let spool = try SpoolFolder.open(path, role: .writer)
            for part in SpoolFolder.Part.allCases {
                #expect(try FileStatus(of: spool.path(of: part)).mode & 0o7777 == 0o2770)
            }
            #expect(try FileStatus(of: spool.root).mode & 0o7777 == 0o2770)
            #expect(try FileStatus(of: spool.format).mode & 0o7777 == 0o660)
            let ledger = try Ledger(in: spool)
            let worker = try Worker.start(in: spool)
            try GateFile(in: spool).update(destination: 1) { $0.consecutiveFailures = 1 }
            _ = try DuplicateWindow.open(in: spool, destination: 1, capacity: 100)
            let segment = SegmentName(millisecondsSince1970: 1, writer: 1, sequence: 0)
            try Progress(of: segment, in: spool).append([ProgressEntry(frame: 0, first: 0, outcome: .delivered)])
            for path in [spool.ledger, spool.gate, spool.duplicates, spool.progress(segment)] {
                #expect(try FileStatus(of: path).mode & 0o7777 == 0o660, "\(path)")
            }
            #expect(try FileStatus(of: "\(spool.claimed)/\(worker.name)").mode & 0o7777 == 0o2770)
            #expect(try FileStatus(of: "\(spool.claimed)/\(worker.name)/lock").mode & 0o7777 == 0o660)
            _ = ledger
        }
    }

    @Test func `a spool is made once and opened again`() throws {
        let first = try SpoolFolder.open(folder.path("spool"), role: .writer)
        let second = try SpoolFolder.open(folder.path("spool"), role: .relay)
        #expect(first == second)
        #expect(try FileSystem.contents(of: first.format, limit: 100) == Array("sluice-spool 1\n".utf8))
        #expect(
            try FileSystem.names(in: first.root) == [
                "FORMAT", "claimed", "incoming", "progress", "quarantine", "ready",
            ]
        )
        for part in SpoolFolder.Part.allCases { #expect(try FileSystem.names(in: first.path(of: part)).isEmpty) }
    }

    @Test func `what a crash left of a start is gone after the next`() throws {
        let spool = try SpoolFolder.open(folder.path("spool"), role: .writer)
        let paths = ([spool.root] + SpoolFolder.Part.allCases.map(spool.path(of:))).map { "\($0)/.new-probe" }
        for path in paths { _ = try File(opening: path, O_WRONLY | O_CREAT | O_EXCL) }
        _ = try SpoolFolder.open(spool.root, role: .relay)
        for path in paths { #expect(throws: SystemError.self) { try FileStatus(of: path) } }
    }

    @Test func `readers make nothing`() throws {
        let error = #expect(throws: SpoolError.self) { try SpoolFolder.open(folder.path, role: .reader) }
        #expect(error?.code == .notASpool)
        #expect(error?.disposition == .stop)
        #expect(try FileSystem.names(in: folder.path).isEmpty)
        #expect(throws: SpoolError.self) { try SpoolFolder.open(folder.path("none"), role: .reader) }
        #expect(throws: SpoolError.self) { try SpoolFolder.open(folder.path("none"), create: false, role: .relay) }
    }

    @Test func `a higher version is refused and nothing is touched`() throws {
        try folder.write("sluice-spool 2\n", to: "FORMAT")
        let error = #expect(throws: SpoolError.self) { try SpoolFolder.open(folder.path, role: .relay) }
        #expect(error?.code == .unsupportedVersion)
        #expect(error?.disposition == .stop)
        #expect(error?.path.hasSuffix("/FORMAT") == true)
        #expect(try FileSystem.names(in: folder.path) == ["FORMAT"])
    }

    @Test(arguments: [
        "", "sluice-spool\n", "sluice-spool x\n", "sluice-spool 0\n", "something else\n", "sluice-spool -1\n",
    ])
    func `a FORMAT file of something else is refused`(text: String) throws {
        try folder.write(text, to: "FORMAT")
        let error = #expect(throws: SpoolError.self) { try SpoolFolder.open(folder.path, role: .relay) }
        #expect(error?.code == .notASpool)
        #expect(try FileSystem.names(in: folder.path) == ["FORMAT"])
    }

    /// Case C45.
    @Test func `the root may be a link and is resolved`() throws {
        try FileSystem.makeFolder(folder.path("volume"))
        #expect(symlink(folder.path("volume"), folder.path("spool")) == 0)
        let spool = try SpoolFolder.open(folder.path("spool"), role: .relay)
        #expect(spool.root.hasSuffix("/volume"))
    }

    @Test func `a part of the spool must not be a link`() throws {
        try FileSystem.makeFolder(folder.path("elsewhere"))
        try FileSystem.makeFolder(folder.path("spool"))
        #expect(symlink(folder.path("elsewhere"), folder.path("spool/quarantine")) == 0)
        let error = #expect(throws: SpoolError.self) { try SpoolFolder.open(folder.path("spool"), role: .relay) }
        #expect(error?.code == .notASpool)
        #expect(error?.path.hasSuffix("/quarantine") == true)
        #expect(try FileSystem.names(in: folder.path("elsewhere")).isEmpty)
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, to become somebody else"))
    func `a folder that the process may not write is named with its mode`() async throws {
        let spool = try SpoolFolder.open(folder.path("spool"), role: .relay)
        chmod(folder.path, 0o755)
        for path in [spool.root] + SpoolFolder.Part.allCases.map(spool.path(of:)) {
            #expect(chown(path, 65534, 65534) == 0)
        }
        chown(spool.format, 65534, 65534)
        chown(spool.ready, 0, 0)
        chmod(spool.ready, 0o755)
        await #expect(processExitsWith: .success) { [path = spool.root as String] in
            #expect(setgroups(0, nil) == 0 && setgid(65534) == 0 && setuid(65534) == 0)
            let error = #expect(throws: SpoolError.self) { try SpoolFolder.open(path, role: .relay) }
            #expect(error?.code == .permission)
            #expect(error?.disposition == .stop)
            #expect(error?.path == "\(path)/ready")
            #expect(error?.detail.contains("mode 0755, owner 0") == true)
            let left = try FileSystem.names(in: "\(path)/incoming")
            #expect(left.isEmpty)
        }
    }

    @Test func `network filesystems are known by their number`() {
        #expect(SpoolFolder.refusedFilesystem(type: 0x6969) == "NFS")
        #expect(SpoolFolder.refusedFilesystem(type: 0xFF53_4D42) == "SMB")
        for local in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1] {
            #expect(SpoolFolder.refusedFilesystem(type: local) == nil)
        }
    }

    /// Case C43.
    @Test(.enabled(if: canMount, "needs root, to mount"))
    func `a folder on another filesystem is refused`() throws {
        let spool = try SpoolFolder.open(folder.path("spool"), role: .relay)
        let program = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", spool.quarantine]
        try #require(run(program) == 0)
        defer { _ = run(["umount", spool.quarantine]) }
        let error = #expect(throws: SpoolError.self) { try SpoolFolder.open(spool.root, role: .relay) }
        #expect(error?.code == .wrongFilesystem)
        #expect(error?.path == spool.quarantine)
    }

    /// Case C43.
    @Test(.enabled(if: canMount, "needs root, to mount"))
    func `bind mounts of one filesystem are refused`() throws {
        let spool = try SpoolFolder.open(folder.path("spool"), role: .relay)
        try FileSystem.makeFolder(folder.path("elsewhere"))
        try #require(run(["mount", "--bind", folder.path("elsewhere"), spool.claimed]) == 0)
        defer { _ = run(["umount", spool.claimed]) }
        let error = #expect(throws: SpoolError.self) { try SpoolFolder.open(spool.root, role: .relay) }
        #expect(error?.code == .wrongFilesystem)
        #expect(error?.path == spool.claimed)
        #expect(try FileSystem.names(in: spool.ready).isEmpty, "the probe's file is taken away again")
    }
}

let canMount = run(["unshare", "-m", "true"]) == 0

/// Runs a program of the system and waits for it.
func run(_ arguments: [String]) -> Int32 {
    var pid = pid_t()
    var pointers = arguments.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    guard posix_spawnp(&pid, arguments[0], nil, nil, pointers, environ) == 0 else { return -1 }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    return (status >> 8) & 0xFF
}
