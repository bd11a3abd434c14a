// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// What the endpoint says when its spool is full, closed or gone: to clients, to load balancers, to watchdogs.
@Suite(.timeLimit(.minutes(3)))
struct EndpointSpoolFaultTests {
    private let folder = TemporaryFolder()

    /// A running endpoint with its admin listener.
    private struct Subject {
        var endpoint: EndpointProcess
        var admin: UInt16

        init(_ folder: TemporaryFolder, spool: String) throws {
            let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
            endpoint = try EndpointProcess(
                spool: spool,
                contract: contract,
                settings: ["SLUICE_SPOOL_SEGMENT_AGE_S": "0.05"],
                admin: "127.0.0.1:0"
            )
            let process = endpoint.process
            process.wait(seconds: 10) { process.errors.contains("admin.address") }
            let errors = process.errors
            let start = try #require(errors.firstRange(of: #""admin.address":"127.0.0.1:"#)?.upperBound)
            admin = try #require(UInt16(errors[start...].prefix { $0.isNumber }))
        }

        func get(_ path: String) -> (status: Int, body: String) {
            guard let socket = LoopbackSocket.connected(to: admin) else { return (0, "") }
            socket.limitReceiving(seconds: 20)
            socket.send(Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8))
            let answer = RawAnswer.all(socket.receiveAll()).first
            return (answer?.status ?? 0, answer?.body ?? "")
        }

        func post(_ id: String) throws -> Int { try endpoint.client().post(EndpointProcess.batch([id]))?.status ?? 0 }

        /// Waits until it is ready or not, and checks that it lives all the while.
        func expectReady(_ isReady: Bool, at place: SourceLocation = #_sourceLocation) {
            let process = endpoint.process
            let wanted = isReady ? 200 : 503
            #expect(process.wait(seconds: 20) { get("/readyz").status == wanted }, sourceLocation: place)
            #expect(get("/healthz").status == 200, sourceLocation: place)
        }
    }

    /// Cases C02 and C33.
    @Test(.enabled(if: SmallDisk.isPossible, "no filesystem can be mounted here"))
    func `on a full disk it is alive and not ready, and ready again by itself`() throws {
        let disk = try #require(SmallDisk(megabytes: 4))
        let subject = try Subject(folder, spool: "\(disk.path)/spool")
        #expect(try subject.post("before") == 200)
        subject.expectReady(true)
        disk.fill()
        #expect(subject.endpoint.process.wait(seconds: 20) { (try? subject.post("full")) == 503 })
        subject.expectReady(false)
        disk.free()
        subject.expectReady(true)
        #expect(try subject.post("after") == 200)
        subject.endpoint.process.terminate()
        #expect(subject.endpoint.process.result(seconds: 20).code == 0)
        let kept = Set(try SpooledLines.all(in: subject.endpoint.spool).compactMap(SpooledLines.id))
        #expect(kept.isSuperset(of: ["before", "after"]))
    }

    @Test(.enabled(if: SmallDisk.isPossible, "no filesystem can be mounted here"))
    func `on a read-only disk it does not start, and says where it may not write`() throws {
        let disk = try #require(SmallDisk())
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        #expect(mount("none", disk.path, nil, UInt(MS_REMOUNT | MS_RDONLY), "size=1m") == 0)
        let result = try ProcessRunner().run(
            "sluice-endpoint",
            ["serve", "--spool", "\(disk.path)/spool", "--contract", contract, "--listen", "127.0.0.1:0"]
        )
        #expect([74, 78].contains(result.code) && result.errors.contains(disk.path), "\(result.errors)")
    }

    /// Cases C33 and C97.
    @Test(arguments: ["all", "incoming"])
    func `into a folder that is gone nothing is acknowledged, that is told, and it passes`(part: String) throws {
        let subject = try Subject(folder, spool: folder.path("spool"))
        #expect(try subject.post("before") == 200)
        let spool = subject.endpoint.spool
        let path = part == "all" ? spool : "\(spool)/\(part)"
        #expect(rename(path, folder.path("gone")) == 0)
        var acknowledged: [String] = []
        for number in 0..<5 where try subject.post("lost-\(number)") == 200 { acknowledged.append("lost-\(number)") }
        subject.expectReady(false)
        #expect(subject.endpoint.process.errors.contains("Spool takes no events"))
        #expect(try subject.post("still") == 503)
        #expect(rename(folder.path("gone"), path) == 0)
        subject.expectReady(true)
        #expect(try subject.post("after") == 200)
        subject.endpoint.process.terminate()
        #expect(subject.endpoint.process.result(seconds: 20).code == 0)
        let kept = Set(try SpooledLines.all(in: spool).compactMap(SpooledLines.id))
        #expect(kept.isSuperset(of: acknowledged + ["before", "after"]))
    }

    /// Case C97: what a cleaner of temporary folders does to files that it takes for old.
    @Test func `after a cleaner has taken every file nothing is acknowledged that is not on disk`() throws {
        let subject = try Subject(folder, spool: folder.path("spool"))
        #expect(try subject.post("before") == 200)
        let spool = subject.endpoint.spool
        let find = try #require(Tool.path(of: "find"))
        #expect(try ProcessRunner().run(find, [spool, "-type", "f", "-delete"]).code == 0)
        var acknowledged: [String] = []
        for number in 0..<30 where try subject.post("e\(number)") == 200 { acknowledged.append("e\(number)") }
        subject.expectReady(true)
        #expect(!acknowledged.isEmpty)
        subject.endpoint.process.kill()
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        #expect([0, 65].contains(try RelayProgram.drain(spool, to: server.url).code))
        #expect(Set(upstream.taken).isSuperset(of: acknowledged))
    }
}
