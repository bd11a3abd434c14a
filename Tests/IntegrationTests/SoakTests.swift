// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import SluiceTestSupport
import Testing

/// The observer of `sluice-bench soak` in short; `deploy/soak.sh` is the long form.
struct SoakTests {
    private func soak(_ options: String...) throws -> ProcessRunner.Result {
        let folder = TemporaryFolder()
        let result = try ProcessRunner().run(
            "/bin/sh",
            [
                "-c", "cd \"$1\" && shift && exec \"$@\"", "sh", folder.path, ProcessRunner.path(of: "sluice-bench"),
                "soak", "--rate", "500",
            ] + options,
            seconds: 240
        )
        try #require(result.code == 0 || result.code == 65, "\(result.errors)\n\(result.output)")
        return result
    }

    @Test func `a short soak with all faults loses nothing and alters nothing`() throws {
        let result = try soak("--minutes", "0.35", "--interval", "0.3")
        #expect(result.code == 0, "\(result.output)")
        #expect(result.lines.contains { $0.hasPrefix("  lost ") })
        #expect(
            result.lines.last == "nothing that was acknowledged is lost, nothing is altered, the books are balanced"
        )
    }

    @Test func `the observer sees a segment that is lost, and names events of it`() throws {
        let result = try soak("--minutes", "0.05", "--faults", "none", "--sabotage", "lose")
        #expect(result.code == 65)
        #expect(result.output.contains(/PROBLEM  [0-9]+ acknowledged events are lost/))
        #expect(result.output.contains(/LOST     soak-[0-9a-f]{8}-[0-9a-f]{12}/))
        #expect(result.output.contains("NOT balanced"))
    }

    @Test func `the observer sees one altered record, and names it`() throws {
        let result = try soak("--minutes", "0.05", "--faults", "none", "--sabotage", "alter", "--json")
        #expect(result.code == 65)
        #expect(result.output.contains(#""lost":0"#))
        #expect(result.output.contains(#""altered":1"#))
        #expect(result.output.contains(/content: soak-[0-9a-f]{8}-[0-9a-f]{12}/))
    }
}
