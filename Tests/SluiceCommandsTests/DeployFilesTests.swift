// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceSystem
import Testing

/// The files of `deploy/` that people copy.
struct DeployFilesTests {
    private static let folder =
        "\(#filePath)".split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        .joined(separator: "/") + "/deploy"

    @Test func `the sample configuration is taken as it is`() throws {
        var arguments = Arguments(["--config", "\(Self.folder)/samples/sluice.json5"])
        let configuration = try ConfigurationSource(&arguments, environment: [:]).load()
        #expect(configuration.endpoint.environment == "production")
        #expect(configuration.clients.map(\.name) == ["android-prod", "ios-prod"])
    }

    @Test func `the sample contract is taken as it is`() throws {
        var configuration = Configuration()
        configuration.endpoint.contract = "\(Self.folder)/samples/contract.json5"
        #expect(try configuration.contract() != nil)
    }

    @Test func `the document of settings is the code's`() throws {
        let bytes = try FileSystem.contents(of: "\(Self.folder)/CONFIGURATION.md", limit: 1 << 20)
        #expect(String(decoding: bytes, as: UTF8.self) == ConfigurationDocument.markdown + "\n")
    }
}
