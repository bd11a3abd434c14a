// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSoak
import SluiceSystem
import SluiceTestSupport
import Testing

/// Which ends of a program the soak takes for a fault.
struct SoakProgramTests {
    private let folder = TemporaryFolder()

    /// A shell that does as its script says, and then waits.
    private func program(_ script: String) -> SoakProgram {
        let path = folder.path("started")
        return SoakProgram(name: "shell") {
            try ChildProcess("/bin/sh", ["-c", "\(script) echo > \(path); while :; do sleep 0.01; done"])
        }
    }

    /// The ends that nobody asked for, when it is told to stop as soon as its script has run.
    private func ends(_ script: String) throws -> [Int32: Int] {
        let program = program(script)
        try FileSystem.removeIfPresent(folder.path("started"))
        try program.start()
        while access(folder.path("started"), F_OK) != 0 { sched_yield() }
        try program.finish()
        #expect(program.stops == 1 && program.hangs == 0)
        return program.ownEnds
    }

    @Test func `a program without a handler yet may end by the signal that tells it to stop`() throws {
        #expect(try ends("") == [:])
    }

    @Test func `a program that has a handler must end in good order`() throws {
        #expect(try ends("trap 'exit 0' TERM;") == [:])
        #expect(try ends("trap 'exit 3' TERM;") == [3: 1])
        #expect(try ends("trap 'trap - TERM; kill -TERM $$' TERM;") == [143: 1])
    }
}
