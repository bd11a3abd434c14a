// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceCommands
internal import SluiceGraphJSON
internal import SluiceSystem
internal import SluiceTestSupport

/// Settings are taken or every problem is told; what was taken can be written to a file that means the same.
///
/// A text that begins with SLUICE_ is a line for each variable of the environment, any other a configuration file.
final class ConfigurationFuzz {
    private let folder = TemporaryFolder()

    func check(_ input: UnsafeRawBufferPointer) throws {
        let text = String(decoding: input, as: UTF8.self)
        let isEnvironment = text.hasPrefix("SLUICE_")
        var environment: [String: String] = [:]
        if isEnvironment {
            for line in text.split(separator: "\n") {
                let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if parts.count == 2 { environment[String(parts[0])] = String(parts[1]) }
            }
        }
        let configuration: Configuration
        do throws(ConfigurationError) {
            configuration = try load(isEnvironment ? Array("{}".utf8) : Array(input), environment)
        } catch {
            try hold(!error.problems.isEmpty && error.problems.allSatisfy { !$0.isEmpty }, "refused without a problem")
            return
        }
        let written = Self.file(of: configuration)
        let again: Configuration
        do throws(ConfigurationError) {
            again = try load(Array(written.utf8), [:])
        } catch {
            throw FuzzFinding("\(written) is refused: \(error)")
        }
        for setting in Setting.all {
            let (first, second) = (setting.text(in: configuration), setting.text(in: again))
            try hold(first == second, "\(setting.name) is \(second), and was \(first)")
        }
        try checkURL(configuration.graphjson.url)
    }

    private func load(_ text: [UInt8], _ environment: [String: String]) throws(ConfigurationError) -> Configuration {
        let path = folder.path("sluice.json5")
        do {
            try FileSystem.removeIfPresent(path)
            let file = try File(opening: path, O_WRONLY | O_CREAT | O_EXCL)
            try text.withUnsafeBytes { try file.write($0) }
            var arguments = Arguments(["--config", path])
            let source = try ConfigurationSource(&arguments, environment: environment)
            return try source.load()
        } catch let error as ConfigurationError {
            throw error
        } catch {
            fatalError("no file: \(error)")
        }
    }

    /// A file with every setting.
    private static func file(of configuration: Configuration) -> String {
        var text = "{\n"
        var section = ""
        for setting in Setting.all where !setting.key.isEmpty {
            if setting.section != section {
                text += section.isEmpty ? "" : "},\n"
                text += "\(setting.section): {\n"
                section = setting.section
            }
            text += "\(setting.key): \(setting.text(in: configuration)),\n"
        }
        text += "},\n"
        for setting in Setting.all where setting.key.isEmpty {
            text += "\(setting.section): \(setting.text(in: configuration)),\n"
        }
        return text + "}\n"
    }

    private func checkURL(_ url: String) throws {
        guard let target = try? GraphJSONTarget(url: url) else { return }  // refused
        let again = try need(try? GraphJSONTarget(url: target.base), "\(target.base) is refused")
        try hold(again == target, "\(url) becomes \(target.base) and then \(again.base)")
        try hold(!target.base.hasSuffix("/") && !target.base.contains("@"), "\(target.base) is no base")
    }
}
