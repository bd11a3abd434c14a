// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Links, pipes, folders and foreign names all over a spool: no program follows, waits for or removes them.
///
/// Cases C38 and C45.
@Suite(.timeLimit(.minutes(2)))
struct StrangeFilesTests {
    private let sample: SampleSpool
    private let outside: String
    private var spool: String { sample.path }

    init() throws {
        sample = try SampleSpool()
        outside = sample.folder.path("outside")
        try FileSystem.makeFolder(outside, mode: 0o700)
        try sample.folder.write("precious", to: "outside/file")
        try sample.folder.write("linked", to: "outside/hard")
        let inner = sample.folder.path("outside/inner")
        try FileSystem.makeFolder(inner, mode: 0o700)
        try sample.folder.write("segment", to: "outside/inner/\(sample.name(77).sealedFileName)")
    }

    /// Names, contents and times of everything outside.
    private func outsideState() throws -> String {
        try Tool.run("find", outside, "-printf", "%P %s %T@ %m %n\n").output
            + (try Tool.run("cat", "\(outside)/file", "\(outside)/hard")).output
    }

    /// One of each kind under names that `name` gives.
    private func scatter(in folder: String, _ name: (Int) -> String) throws -> Int {
        let paths = (0..<8).map { "\(folder)/\(name($0))" }
        #expect(symlink("\(outside)/file", paths[0]) == 0)
        #expect(symlink(paths[1], paths[1]) == 0)
        #expect(symlink("\(outside)/inner", paths[2]) == 0)
        #expect(symlink("/nowhere", paths[3]) == 0)
        #expect(mkfifo(paths[4], 0o660) == 0)
        #expect(mkdir(paths[5], 0o770) == 0)
        #expect(link("\(outside)/hard", paths[6]) == 0)
        #expect(try Tool.run("python3", "-c", Self.makeSocket, paths[7]).code == 0)
        return paths.count
    }

    private static let makeSocket = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])"

    @Test(.enabled(if: Tool.isInstalled("python3"), "the python3 command is not installed"))
    func `nothing strange in any folder is followed, waited for, moved or removed, and the rest is delivered`() throws {
        try sample.seal([["e1", "e2"]], sequence: 0)
        try sample.quarantine(["q1"], sequence: 1)
        var count = 0
        count += try scatter(in: sample.spool.ready) { sample.name(100 + $0).sealedFileName }
        count += try scatter(in: sample.spool.incoming) { sample.name(200 + $0).openFileName }
        count += try scatter(in: sample.spool.quarantine) { sample.name(300 + $0).sealedFileName }
        count += try scatter(in: sample.spool.progress) { sample.name(400 + $0).text }
        count += try scatter(in: sample.spool.claimed) { "worker-\($0)" }
        let dead = "\(sample.spool.claimed)/dead"
        try FileSystem.makeFolder(dead)
        count += try scatter(in: dead) { sample.name(500 + $0).sealedFileName }
        let foreign = [
            ".nfs0001", "x.lz4~", ".x.swp", "x.lz4.tmp", "with\nnewline", String(repeating: "n", count: 255),
        ]
        for part in SpoolFolder.Part.allCases {
            for name in foreign { try sample.folder.write("x", to: "spool/\(part.rawValue)/\(name)") }
            try FileSystem.makeFolder("\(sample.spool.path(of: part))/lost+found")
            let bytes: [CChar] = Array("\(sample.spool.path(of: part))/".utf8CString.dropLast()) + [-1, -2, 0]
            close(open(bytes, O_CREAT | O_WRONLY, 0o660))
        }
        let before = try outsideState()
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        for round in 0..<2 {
            let drained = try RelayProgram.drain(spool, to: server.url)
            #expect([0, 75].contains(drained.code), "\(drained.output) \(drained.errors)")
            #expect(drained.errors.contains(#""message":"File in the spool left alone""#), "round \(round)")
        }
        #expect(upstream.taken == ["e1", "e2"])
        for words in [
            ["status"], ["status", "--json"], ["verify"], ["find", "e1"], ["quarantine", "list"],
            ["quarantine", "show"], ["quarantine", "replay", "--dry-run"], ["quarantine", "discard", "--id", "q1"],
        ] {
            let result = try ProcessRunner().run("sluice-relay", words + ["--spool", spool], seconds: 20)
            #expect([0, 65, 75].contains(result.code), "\(words): \(result.code) \(result.errors)")
        }
        let contract = try sample.folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(spool: spool, contract: contract)
        let answer = try endpoint.client().post(EndpointProcess.batch(["e3"]))
        #expect(answer?.status == 200, "\(answer?.body ?? "") \(endpoint.process.errors)")
        endpoint.process.terminate()
        #expect(endpoint.process.result(seconds: 20).code == 0)
        #expect(try outsideState() == before)
        let left = try Tool.run("find", spool, "(", "-type", "l", "-o", "-type", "p", "-o", "-type", "s", ")")
        #expect(left.lines.count == count / 8 * 6)
    }

    @Test func `a duplicate window that is cut off under a running relay ends nothing`() throws {
        let sample = try SampleSpool()
        try sample.seal([(0..<500).map { "e\($0)" }])
        let path = sample.spool.duplicates
        let upstream = Upstream { _, number in
            if number == 3 { truncate(path, 0) }
            return nil
        }
        let server = upstream.server()
        defer { server.stop() }
        let settings = ["SLUICE_RELAY_MAX_IN_FLIGHT": "1"]
        let result = try RelayProgram.drain(sample.path, to: server.url, settings: settings)
        #expect(result.code == 0, "\(result.errors)")
        #expect(Set(upstream.taken).count == 500 && upstream.taken.count == 500)
    }

    @Test(arguments: ["gate", "duplicates", "ledger", "FORMAT"], ["link", "fifo", "folder"])
    func `a strange thing in the place of a file of the spool is refused or done without, never touched`(
        file: String,
        kind: String
    ) throws {
        try sample.seal([["e1", "e2"]])
        let path = "\(spool)/\(file)"
        try FileSystem.removeIfPresent(path)
        switch kind {
        case "link": #expect(symlink("\(outside)/file", path) == 0)
        case "fifo": #expect(mkfifo(path, 0o660) == 0)
        default:
            #expect(mkdir(path, 0o770) == 0)
            try FileSystem.makeFolder("\(path)/inner")
        }
        let before = try outsideState()
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        let drained = try RelayProgram.drain(spool, to: server.url)
        #expect(drained.code != 137)
        if file == "gate" || file == "duplicates" {
            #expect(drained.code == 0 && upstream.taken == ["e1", "e2"], "\(drained.errors)")
        } else {
            #expect([74, 78].contains(drained.code) && upstream.taken.isEmpty, "\(drained.code)")
            #expect(drained.errors.contains(path))
        }
        for words in [["status"], ["verify"]] {
            #expect(try ProcessRunner().run("sluice-relay", words + ["--spool", spool], seconds: 20).code != 137)
        }
        #expect(try outsideState() == before)
    }
}
