// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceJSON
internal import SluiceSystem

/// Where a command's settings come from: options over environment over file over defaults.
///
/// It can be loaded again, as SIGHUP asks.
package struct ConfigurationSource: Sendable {
    package static let defaultPath = "/etc/sluice/sluice.json5"
    private static let maximumFileBytes = 1 << 20

    /// The file that `--config` names; nil takes the default path if it is there.
    package var file: String?
    private var environment: [String: String]
    private var options: [(setting: Setting, text: String)] = []

    /// Takes `--config`, `--log-level` and the options of `settings` out of the command line.
    ///
    /// - Parameters:
    ///   - arguments: the command line.
    ///   - settings: names such as `spool.path`, of settings that have an option.
    ///   - environment: the process's variables.
    /// - Throws: when an option has no value.
    package init(
        _ arguments: inout Arguments,
        settings: [String] = [],
        environment: [String: String]
    ) throws(UsageError) {
        self.environment = environment
        file = try arguments.option("--config")
        for setting in Self.settings(named: settings) {
            guard let flag = setting.flag, let text = try arguments.option(flag) else { continue }
            options.append((setting, text))
        }
    }

    /// The lines of a command's help that explain the options of `settings`.
    package static func help(_ names: [String] = []) -> String {
        var rows = settings(named: names).map { setting in
            ("\(setting.flag ?? "") \(setting.placeholder)", "\(setting.meaning) \(defaultNote(setting)).")
        }
        rows.append(("--config FILE", "The configuration. Default: \(defaultPath) if it is there."))
        return HelpText.table(rows)
    }

    private static func defaultNote(_ setting: Setting) -> String {
        setting.defaultText == "null" ? "No default" : "Default: \(setting.defaultText)"
    }

    private static func settings(named names: [String]) -> [Setting] {
        (names + ["log.level"]).map { name in
            guard let setting = Setting.all.first(where: { $0.name == name }), setting.flag != nil else {
                preconditionFailure("\(name) is no setting with an option")
            }
            return setting
        }
    }

    /// Puts the settings together.
    ///
    /// - Throws: all problems at once.
    package func load() throws(ConfigurationError) -> Configuration {
        var configuration = Configuration()
        var problems = readFile(into: &configuration)
        for setting in Setting.all {
            guard let text = environment[setting.environmentName], !text.isEmpty else { continue }
            problems += store(text, of: setting, from: setting.environmentName, into: &configuration)
        }
        for (setting, text) in options {
            problems += store(text, of: setting, from: setting.flag ?? setting.name, into: &configuration)
        }
        if problems.isEmpty { problems = configuration.contradictions }
        guard problems.isEmpty else { throw ConfigurationError(problems) }
        return configuration
    }

    /// Variables that begin with `SLUICE_` and are no setting, with the setting that may be meant; Kubernetes adds such
    /// variables for services, so they are no error.
    package var ignoredVariables: [(name: String, nearest: String?)] {
        let names = Setting.all.map(\.environmentName)
        return environment.keys.filter { $0.hasPrefix("SLUICE_") && !names.contains($0) }.sorted().map {
            ($0, Nearest.name(to: $0, among: names))
        }
    }

    private func store(
        _ text: String,
        of setting: Setting,
        from source: String,
        into configuration: inout Configuration
    ) -> [String] {
        if let value = setting.read(text), setting.store(value, &configuration) { return [] }
        return ["\(source) takes \(setting.allowed)"]
    }

    // MARK: - File

    private func readFile(into configuration: inout Configuration) -> [String] {
        let path = file ?? Self.defaultPath
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileSystem.contents(of: path, limit: Self.maximumFileBytes, followLinks: true)
        } catch {
            if file == nil && error.errno == ENOENT { return [] }
            return ["\(path): the configuration cannot be read: \(error.reason)"]
        }
        do throws(JSON5Error) {
            let json = try JSON5(parsing: bytes)
            guard case .object(let sections) = json.value else {
                return ["\(path): the configuration must be an object of sections"]
            }
            return sections.flatMap { store($0, path, into: &configuration) }
        } catch {
            return ["\(path): \(error.description)"]
        }
    }

    private func store(_ section: JSON5.Member, _ path: String, into configuration: inout Configuration) -> [String] {
        let settings = Setting.all.filter { $0.section == section.key }
        guard !settings.isEmpty else {
            let hint = Nearest.name(to: section.key, among: Setting.all.map(\.section)).map { "; did you mean \($0)?" }
            return ["\(path):\(section.line): \(section.key) is no section\(hint ?? "")"]
        }
        if let whole = settings.first(where: { $0.key.isEmpty }) {
            if whole.store(section.value.value, &configuration) { return [] }
            return ["\(path):\(section.line): \(whole.name) takes \(whole.allowed)"]
        }
        guard case .object(let members) = section.value.value else {
            return ["\(path):\(section.line): \(section.key) must be an object of settings"]
        }
        return members.compactMap { member in
            let place = "\(path):\(member.line)"
            guard let setting = settings.first(where: { $0.key == member.key }) else {
                return
                    "\(place): \(section.key).\(member.key) is no setting\(Self.hint(section.key, member.key, settings))"
            }
            if setting.store(member.value.value, &configuration) { return nil }
            return "\(place): \(setting.name) takes \(setting.allowed)"
        }
    }

    private static func hint(_ section: String, _ key: String, _ settings: [Setting]) -> String {
        if key == "api_key" || key == "key" {
            return "; the key never stands in this file: name a file that holds it in graphjson.api_key_file"
        }
        if let near = Nearest.name(to: key, among: settings.map(\.key)) { return "; did you mean \(section).\(near)?" }
        if let elsewhere = Setting.all.first(where: { $0.key == key }) { return "; did you mean \(elsewhere.name)?" }
        return ""
    }
}

extension Configuration {
    /// Settings that are allowed each and make no sense together.
    fileprivate var contradictions: [String] {
        var problems: [String] = []
        func require(_ condition: Bool, _ problem: String) {
            if !condition { problems.append(problem) }
        }
        require(relay.backoffMin <= relay.backoffMax, "relay.backoff_min_s must not be above relay.backoff_max_s")
        require(spool.segmentBytes <= spool.maxBytes, "spool.segment_bytes must not be above spool.max_bytes")
        require(
            relay.maxRequestBytes <= relay.memoryBudgetBytes,
            "relay.max_request_bytes must not be above relay.memory_budget_bytes"
        )
        require(
            endpoint.maxEventBytes <= endpoint.maxBodyBytes,
            "endpoint.max_event_bytes must not be above endpoint.max_body_bytes"
        )
        require(
            endpoint.maxBodyBytes <= endpoint.maxBufferedBytes / 8,
            "endpoint.max_body_bytes must not be above an eighth of endpoint.max_buffered_bytes"
        )
        require(
            auth.algorithm == .off || !auth.keyFiles.isEmpty,
            "auth.key_files must name a key for auth.algorithm \"\(auth.algorithm.rawValue)\""
        )
        require(
            auth.algorithm != .off || auth.keyFiles.isEmpty,
            "auth.algorithm must say which algorithm auth.key_files are for"
        )
        return problems
    }
}
