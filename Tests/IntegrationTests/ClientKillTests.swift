// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// Cases C83 and C92: real processes that are killed, stopped, and share a file.
@Suite(.timeLimit(.minutes(10)))
struct ClientKillTests {
    private let folder = TemporaryFolder()

    private func endpoint() throws -> EndpointProcess {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        return try EndpointProcess(spool: folder.path("spool"), contract: contract)
    }

    private func words(_ app: String, _ port: UInt16, _ command: String...) -> [String] {
        [app, "http://127.0.0.1:\(port)/api/mobile-events"] + command
    }

    private func printedIDs(_ output: String) -> [String] {
        output.split(separator: "\n").filter { $0.hasPrefix("id ") }.map { String($0.dropFirst(3)) }
    }

    /// What a launch after the leases sends; the last line that it prints.
    private func deliverRest(_ app: String, _ port: UInt16) throws -> String {
        var last = ""
        for shift in [200_000, 290_000] {
            let runner = ProcessRunner(environment: ["CLIENT_PROBE_SHIFT": String(shift)])
            last = try runner.run("client-probe", words(app, port, "flush")).output
        }
        return last
    }

    /// All ids have arrived, and copies of an event are the same bytes.
    private func problems(_ ids: [String], _ spool: String) throws -> [String] {
        let records = try EndpointProcess.records(in: spool)
        var problems = ids.filter { records[$0] == nil }.map { "\($0) was persisted and never arrived" }
        for (id, copies) in records {
            let bytes = Set(copies.map { $0.envelope })
            if bytes.count > 1 { problems.append("\(id) was sent in different bytes") }
        }
        return problems
    }

    @Test func `a process killed with queued events: every event whose track returned arrives after the next launch`()
        throws
    {
        let endpoint = try endpoint()
        let app = folder.path("app")
        let process = try ProcessRunner().start("client-probe", words(app, endpoint.port, "track", "500"))
        #expect(process.line(startingWith: "tracked") != nil, "\(process.errors)")
        let ids = printedIDs(process.output)
        process.kill()
        #expect(ids.count == 500)
        let result = try ProcessRunner().run("client-probe", words(app, endpoint.port, "flush"))
        #expect(result.output == "accepted 500 rejected 0 finished\n")
        #expect(try problems(ids, endpoint.spool).isEmpty)
        #expect(try endpoint.records().values.allSatisfy { $0.count == 1 })
    }

    @Test func `killed at any write of the file or after any answer, no event is lost and copies are equal`() throws {
        let endpoint = try endpoint()
        let port = endpoint.port
        let persisted = Acknowledged()
        let kills = Acknowledged()
        let clean = folder.path("clean")
        let injector = try FaultInjector(root: clean, record: [.changes])
        let whole = try ProcessRunner().under(injector).run("client-probe", words(clean, port, "deliver", "100"))
        #expect(whole.output.hasSuffix("finished\n"), "\(whole.errors)")
        let writes = try injector.log().entries.count { $0.operation == .write }
        #expect(writes > 50)
        let points = (1...40).map { 1 + $0 * (writes - 1) / 40 }
        let found = SluiceTestSupport.problems(among: points, atOnce: 2) { point in
            let app = folder.path("app-\(point)")
            let injector = try FaultInjector(root: app)
            try injector.set("write * \(point) kill")
            let killed = try ProcessRunner().under(injector).run("client-probe", words(app, port, "deliver", "100"))
            let last = try deliverRest(app, port)
            persisted.add(printedIDs(killed.output))
            if killed.code == 137 { kills.add(["\(point)"]) }
            var wrong: [String] = []
            if !last.hasSuffix("finished\n") { wrong.append("the next launch ended with \(last)") }
            if killed.code != 137 && killed.code != 0 { wrong.append("ended with \(killed.code): \(killed.errors)") }
            return wrong
        }
        #expect(found.isEmpty, "\(found.prefix(5))")
        #expect(kills.count > 30 && persisted.count > 1000)
        let lost = try problems(Array(persisted.ids), endpoint.spool)
        #expect(lost.isEmpty, "\(lost.prefix(5))")
    }

    @Test func `disk errors and a full disk lose no event that was persisted, and the next track works`() throws {
        let endpoint = try endpoint()
        let port = endpoint.port
        let faults = [
            "write * 20-30 fail=EIO", "write * 5-60 fail=ENOSPC", "sync * * fail=EIO", "write *-wal 30-33 fail=EIO",
            "read * 30-35 fail=EIO",
        ]
        for (number, fault) in faults.enumerated() {
            let app = folder.path("app-\(number)")
            let injector = try FaultInjector(root: app)
            try injector.set(fault)
            let result = try ProcessRunner().under(injector).run("client-probe", words(app, port, "deliver", "200"))
            #expect(result.code == 0, "\(fault): \(result.errors)")
            let last = try deliverRest(app, port)
            #expect(last.hasSuffix("finished\n"), "\(fault): \(last)")
            #expect(try problems(printedIDs(result.output), endpoint.spool).isEmpty, "\(fault)")
            #expect(try !FileSystem.names(in: app).contains { $0.hasSuffix(".damaged") }, "\(fault)")
        }
    }

    @Test func `two processes on one file lose no event and send none twice, also when one is stopped and killed`()
        throws
    {
        let endpoint = try endpoint()
        let app = folder.path("app")
        let first = try ProcessRunner().start("client-probe", words(app, endpoint.port, "deliver", "400"))
        let second = try ProcessRunner().start("client-probe", words(app, endpoint.port, "deliver", "400"))
        let third = try ProcessRunner().start("client-probe", words(app, endpoint.port, "deliver", "400"))
        #expect(third.wait(seconds: 60) { third.output.contains("id ") })
        kill(third.id, SIGSTOP)
        let results = [first.result(), second.result()]
        #expect(results.allSatisfy { $0.code == 0 })
        third.kill()
        _ = try deliverRest(app, endpoint.port)
        let ids = (results.map(\.output) + [third.output]).flatMap { printedIDs($0) }
        #expect(try problems(ids, endpoint.spool).isEmpty)
        let twice = try endpoint.records().filter { $0.value.count > 1 }
        #expect(twice.count <= 100, "only what the killed process had in flight: \(twice.count)")
    }
}
