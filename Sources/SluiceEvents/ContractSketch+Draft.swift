// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

extension ContractSketch {
    /// Values of one kind before they count as a closed set: each must have come up some times.
    private static let samplesPerChoice = 5

    /// The draft: a contract in JSON5 with comments, which accepts these samples.
    package var draft: String {
        var lines = [
            "// A draft from \(samples) sample events, made by `sluice-endpoint contract infer`. Read every line of it: samples",
            "// show what was sent, not what was meant.",
            "{",
            "  contract_version: \"draft-1\",",
            "  schema_versions: { min: \(window.lowerBound), max: \(window.upperBound) },\(versionsComment)",
            "  platforms: [\(platformNames.map(quoted).joined(separator: ", "))],",
        ]
        lines += defaultLines
        lines += [
            "  on_unknown: \"quarantine\", // what the next release sends and this file does not list is kept and can be replayed",
            "  unlisted_properties: \"remove\",",
            "  email_like: \"reject\",",
        ]
        let names = experiments.keys.filter { $0.withUnsafeBytes { Self.isName($0, limit: 50) } }
        if !names.isEmpty {
            lines.append("  experiments: [\(sorted(names).map(quoted).joined(separator: ", "))],")
        }
        lines.append("  events: {")
        for name in sorted(events.keys) {
            guard let event = events[name] else { continue }
            lines += self.lines(of: event, named: name)
        }
        return (lines + ["  },", "}"]).joined(separator: "\n") + "\n"
    }

    // MARK: The whole

    private var window: ClosedRange<Int> {
        guard let least = versions.keys.min(), let most = versions.keys.max() else { return 1...1 }
        return least...most
    }

    private var versionsComment: String {
        guard versions.count > 1 else { return "" }
        let counts = versions.sorted { $0.key < $1.key }.prefix(8).map { "\($0.key): \($0.value) events" }
        return " // " + counts.joined(separator: ", ") + (versions.count > 8 ? ", …" : "")
    }

    private var platformNames: [[UInt8]] {
        platforms.isEmpty ? ["android", "ios"].map { Array($0.utf8) } : sorted(platforms.keys)
    }

    /// What is filled in where some samples leave a field out.
    private var defaultLines: [String] {
        var parts: [String] = []
        // Events of servers need none.
        let isNeeded = events.values.contains { $0.serverLike == 0 }
        if withoutPlatform > 0 && isNeeded {
            let most = platformNames.max { platforms[$0, default: 0] < platforms[$1, default: 0] }
            parts.append("platform: \(quoted(most ?? []))")
        }
        if withoutVersion > 0 { parts.append("schema_version: \(defaultVersion)") }
        guard !parts.isEmpty else { return [] }
        let missing = [(withoutPlatform, "platform"), (withoutVersion, "schema_version")].filter { $0.0 > 0 }
        let comment = missing.map { "\($0.0) events have no \($0.1)" }.joined(separator: ", ")
        return ["  defaults: { \"*\": { \(parts.joined(separator: ", ")) } }, // \(comment)"]
    }

    private var defaultVersion: Int {
        versions.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? window.lowerBound
    }

    // MARK: Events

    private func lines(of event: SampledEvent, named name: [UInt8]) -> [String] {
        let count = "\(event.count) sample\(event.count == 1 ? "" : "s")"
        guard name.withUnsafeBytes({ Self.isName($0, limit: 100) }) else {
            return ["    // \(count) of an event whose name no contract can list"]
        }
        var lines = ["    // \(count)", "    \(key(name)): {"]
        if event.serverLike > 0 {
            let comment = " // \(event.serverLike) of them lack what an app must send; apps that send it are refused"
            lines.append("      source: \"server\",\(event.serverLike == event.count ? "" : comment)")
        }
        let properties = sorted(event.properties.keys)
        if !properties.isEmpty {
            lines.append("      properties: {")
            for name in properties {
                guard let property = event.properties[name] else { continue }
                lines.append("        " + line(of: property, named: name, in: event))
            }
            lines.append("      },")
        }
        if event.ignored > 0 { lines.append("      // \(event.ignored) values of more properties were not looked at") }
        lines.append("    },")
        return lines
    }

    // MARK: Properties

    private func line(of property: SampledProperty, named name: [UInt8], in event: SampledEvent) -> String {
        if let fault = fault(of: property, named: name) { return "// \(key(name)): \(fault)" }
        var parts: [String] = []
        var comments: [String] = []
        if property.numbers > 0 {
            parts.append("type: \"number\"")
            if property.strings > 0 {
                parts.append("accept_numeric_string: true")
                comments.append("\(property.strings) of \(property.count) are numbers in quotes")
            }
            if property.least >= 0 { parts.append("min: 0") }
            comments.append("\(text(property.least)) to \(text(property.most))")
        } else if property.booleans > 0 {
            parts.append("type: \"boolean\"")
        } else {
            parts.append("type: \"string\"")
            if let choices = choices(of: property) {
                parts.append("one_of: [\(choices.map(quoted).joined(separator: ", "))]")
            } else {
                parts.append("max_length: \(Self.roomy(property.longest))")
            }
            if property.numericStrings == property.strings {
                comments.append("all are numbers in quotes; for numbers: type: \"number\", accept_numeric_string: true")
            }
        }
        let least = firstVersion(of: property, in: event)
        if let least { parts.append("schema_versions: { min: \(least) }") }
        let possible = samples(of: event, from: least)
        if property.count == possible {
            parts.append("required: true")
        } else {
            comments.append("in \(property.count) of \(possible)")
        }
        let comment = comments.isEmpty ? "" : " // \(comments.joined(separator: "; "))"
        return "\(key(name)): { \(parts.joined(separator: ", ")) },\(comment)"
    }

    /// Why a property cannot be listed so that the samples are accepted; nil when it can.
    private func fault(of property: SampledProperty, named name: [UInt8]) -> String? {
        let text = String(decoding: name, as: UTF8.self)
        if ["api_key", "collection", "token"].contains(text) { return "no client may send it: an incident" }
        if ContractDefinition.reservedNames.contains(text) || text.hasPrefix(ContractDefinition.reservedPrefix) {
            return "the name is taken by a field that every event has or may have"
        }
        if !name.withUnsafeBytes({ Self.isName($0, limit: 100) }) { return "no contract can list this name" }
        var kinds: [String] = []
        for (count, kind) in [
            (property.strings, "string"), (property.numbers, "number"), (property.booleans, "boolean"),
            (property.nulls, "null"), (property.containers, "object or list"),
        ] where count > 0 { kinds.append("\(count) \(kind)") }
        if property.nulls > 0 || property.containers > 0 {
            return "\(kinds.joined(separator: ", ")): a property is a string, a number or a boolean, or left out"
        }
        let isNumeric = property.numbers > 0 && property.numericStrings == property.strings
        if kinds.count > 1 && !(isNumeric && property.booleans == 0) {
            return "\(kinds.joined(separator: ", ")): only one type can be listed"
        }
        if property.emails > 0 { return "\(property.emails) of \(property.count) look like e-mail addresses" }
        return property.hasNUL ? "some values hold NUL characters" : nil
    }

    /// The texts of a small closed set, in byte order.
    private func choices(of property: SampledProperty) -> [[UInt8]]? {
        guard let texts = property.texts, texts.count > 1, texts.count <= maximumChoices,
            property.strings >= texts.count * Self.samplesPerChoice,
            property.numericStrings == 0
        else { return nil }
        return sorted(texts.keys)
    }

    /// The schema version that a property came with; nil when it is in the lowest one too.
    private func firstVersion(of property: SampledProperty, in event: SampledEvent) -> Int? {
        guard event.versions.count > 1, property.versions[-1] == nil, let least = property.versions.keys.min(),
            least > window.lowerBound
        else { return nil }
        // Samples without a version count as the default one.
        if event.versions[-1] != nil && defaultVersion >= least { return nil }
        return event.versions.keys.contains { $0 < least && $0 >= 0 } ? least : nil
    }

    private func samples(of event: SampledEvent, from least: Int?) -> Int {
        guard let least else { return event.count }
        return event.versions.reduce(0) { $0 + ($1.key >= least ? $1.value : 0) }
    }

    /// A round number with room above the longest that was seen.
    private static func roomy(_ length: Int) -> Int {
        var power = 10
        while power < 1_000_000 {
            for factor in [1, 2, 5] where power * factor >= length * 2 { return power * factor }
            power *= 10
        }
        return 1_000_000
    }

    // MARK: Texts

    private static func isName(_ name: UnsafeRawBufferPointer, limit: Int) -> Bool {
        !name.isEmpty && name.hasAtMost(scalars: limit) && !name.contains { $0 < 0x20 || $0 == 0x7F }
    }

    private func sorted(_ names: some Sequence<[UInt8]>) -> [[UInt8]] {
        names.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// A key of JSON5, in quotes where it is no identifier.
    private func key(_ name: [UInt8]) -> String {
        let isWord = name.allSatisfy { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 || isDigit($0) || $0 == 0x5F }
        if isWord, let first = name.first, !isDigit(first) { return String(decoding: name, as: UTF8.self) }
        return quoted(name)
    }

    private func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    private func quoted(_ text: [UInt8]) -> String { String(jsonString: String(decoding: text, as: UTF8.self)) }

    private func text(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e15 ? "\(Int(number))" : "\(number)"
    }
}
