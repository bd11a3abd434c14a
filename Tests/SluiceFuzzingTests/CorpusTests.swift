// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceFuzzing
import SluiceSystem
import Testing

/// The inputs that fuzzing has shown to be worth keeping, and those that once broke something, without libFuzzer.
@Suite(.timeLimit(.minutes(2)))
struct CorpusTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus").path()

    @Test(arguments: FuzzTarget.all.map(\.name))
    func `every kept input of a target keeps its promises`(name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        let check = try target.prepare()
        let files = try FileSystem.names(in: "\(Self.folder)/\(name)")
        #expect(!files.isEmpty)
        for file in files {
            let input = try FileSystem.contents(of: "\(Self.folder)/\(name)/\(file)", limit: 1 << 20)
            #expect(throws: Never.self, "\(name)/\(file)") { try input.withUnsafeBytes { try check($0) } }
        }
    }

    @Test func `every target has a folder of inputs, and every folder a target`() throws {
        #expect(try FileSystem.names(in: Self.folder) == FuzzTarget.all.map(\.name).sorted())
    }
}
