// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import SluiceTestSupport
import Testing

/// The vectors are what the model in Python writes, and stay small enough to be handed on.
struct ModelTests {
    @Test(.enabled(if: Tool.isInstalled("python3"), "python3 is missing"))
    func `writing the vectors again gives the same bytes`() throws {
        let check = try Tool.run("python3", "-B", "\(Vectors.folder)/vectors.py", "--check")
        #expect(check.code == 0, "\(check.errors)")
    }

    @Test func `all files together are small, and ASCII`() throws {
        var total = 0
        for folder in ["", "scenarios/"] {
            for name in try FileSystem.names(in: "\(Vectors.folder)/\(folder)") {
                guard name.hasSuffix(".jsonl") || name.hasSuffix(".json") else { continue }
                let bytes = try Vectors.bytes(folder + name)
                #expect(bytes.allSatisfy { $0 < 0x80 }, "\(name) is not ASCII")
                total += bytes.count
            }
        }
        #expect((100_000...600_000).contains(total), "\(total) bytes")
    }

    @Test(arguments: ["encode.jsonl", "reject.jsonl"])
    func `each envelope has the stated length`(file: String) throws {
        for vector in try Vectors.lines(file) where vector["drop"] == nil {
            let name = try vector.text("name")
            #expect(try vector.text("envelope").utf8.count == vector.integer("bytes"), "\(name)")
        }
    }
}
