// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import SluiceTestSupport
import Testing

/// The very end of a program, when its work is done.
struct ProcessEndTests {
    private let sample: SampleSpool
    private let injector: FaultInjector

    init() throws {
        sample = try SampleSpool()
        injector = try FaultInjector(root: sample.path, record: [.exit])
    }

    private var exits: Int {
        get throws { try injector.log().entries.count { $0.operation == .exit } }
    }

    @Test func `no program lets libraries clean up under threads that still use them`() throws {
        let stub = try StubProcess()
        try sample.seal([["a", "b"]])
        let words = ["--spool", sample.path]
        let runner = SampleSpool.runner().under(injector)
        #expect(try runner.run("sluice-relay", ["drain", "--graphjson-url", stub.url] + words).code == 0)
        #expect(try runner.run("sluice-relay", ["status"] + words).code == 0)
        #expect(try runner.run("sluice-endpoint", ["import"] + words, input: "").code == 78)
        #expect(try exits == 0)
    }

    @Test func `an end that does is seen`() throws {
        let program = try #require(Tool.path(of: "true"))
        #expect(try ProcessRunner().under(injector).run(program, []).code == 0)
        #expect(try exits == 1)
    }
}
