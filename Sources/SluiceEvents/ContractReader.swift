// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON

/// Reads a contract's JSON5 strictly and goes on after each problem, so that all are listed together.
struct ContractReader {
    typealias Problem = ContractError.Problem
    typealias Definition = ContractDefinition

    private(set) var problems: [Problem] = []
    private var contract = Definition()

    /// The definition, to be used only when `problems` stays empty.
    mutating func read(_ root: JSON5) -> ContractDefinition {
        let keys = [
            "contract_version", "schema_versions", "platforms", "defaults", "on_unknown", "unlisted_properties",
            "email_like", "experiments", "common_properties", "events", "description",
        ]
        guard let members = object(root, "", keys: keys) else { return contract }
        contract.version = required(members, "contract_version").flatMap { text($0, length: 50) } ?? ""
        if let value = required(members, "schema_versions") { readWindow(value) }
        if let value = members["platforms"] { readPlatforms(value) }
        contract.onUnknown = choice(members, "on_unknown") ?? contract.onUnknown
        contract.unlisted = choice(members, "unlisted_properties") ?? contract.unlisted
        contract.emailLike = choice(members, "email_like") ?? contract.emailLike
        contract.summary = members["description"].flatMap { text($0, length: 10_000) }
        if let value = members["defaults"] { readDefaults(value) }
        if let value = members["experiments"] { contract.experiments = names(value) }
        var common = members["common_properties"].map { properties($0) } ?? []
        for index in common.indices { common[index].isCommon = true }
        if let value = required(members, "events") { readEvents(value, common: common) }
        return contract
    }

    // MARK: - Parts of the contract

    private mutating func readWindow(_ value: Located) {
        guard let members = object(value.value, value.path, keys: ["min", "max"]) else { return }
        let least = required(members, "min").flatMap { integer($0, in: 0...1_000_000) }
        let most = required(members, "max").flatMap { integer($0, in: 0...1_000_000) }
        guard let least, let most else { return }
        guard least <= most else { return report(value, "min is above max") }
        contract.schemaVersions = least...most
    }

    private mutating func readPlatforms(_ value: Located) {
        contract.platforms = names(value)
        if contract.platforms.contains(Definition.serverPlatform) {
            report(value, "\(Definition.serverPlatform) is the platform of server events and cannot be listed")
        }
    }

    private mutating func readDefaults(_ value: Located) {
        for client in named(value) {
            guard let members = object(client.value, client.path, keys: ["platform", "schema_version"]) else {
                continue
            }
            var defaults = Definition.Defaults(client: client.name)
            if let value = members["platform"], let platform = text(value, length: 50) {
                defaults.platform = platform
                if !contract.platforms.contains(platform) { report(value, "\(platform) is not among the platforms") }
            }
            if let value = members["schema_version"] {
                defaults.schemaVersion = integer(value, in: contract.schemaVersions)
            }
            contract.defaults.append(defaults)
        }
    }

    private mutating func readEvents(_ value: Located, common: [Definition.Property]) {
        let keys = [
            "properties", "collection", "source", "durability", "expires_after_s", "unlisted_properties", "email_like",
            "description",
        ]
        for item in named(value) {
            guard let members = object(item.value, item.path, keys: keys) else { continue }
            var event = Definition.Event(name: item.name, unlisted: contract.unlisted, emailLike: contract.emailLike)
            event.unlisted = choice(members, "unlisted_properties") ?? event.unlisted
            event.emailLike = choice(members, "email_like") ?? event.emailLike
            event.source = choice(members, "source") ?? event.source
            event.durability = choice(members, "durability") ?? event.durability
            event.collection = members["collection"].flatMap { text($0, length: 200) }
            event.summary = members["description"].flatMap { text($0, length: 10_000) }
            if let value = members["expires_after_s"] {
                event.expiresAfterSeconds = integer(value, in: 1...10_000_000_000)
                if event.durability != .low { report(value, "only events of durability \"low\" may expire") }
            }
            let own = members["properties"].map { properties($0) } ?? []
            let ownNames = Set(own.map { Array($0.name.utf8) })
            event.properties = (own + common.filter { !ownNames.contains(Array($0.name.utf8)) })
                .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            contract.events.append(event)
        }
    }

    // MARK: - Properties

    private mutating func properties(_ value: Located) -> [Definition.Property] {
        var properties: [Definition.Property] = []
        for item in named(value) {
            if Definition.reservedNames.contains(item.name) || item.name.hasPrefix(Definition.reservedPrefix) {
                report(item, "the name is taken: every event has a field of its own of that name, or may have")
            }
            // A list holds one rule for each range of schema versions.
            guard case .array(let rules) = item.value.value else {
                if let rule = property(item) { properties.append(rule) }
                continue
            }
            if rules.isEmpty { report(item, "a list of rules cannot be empty") }
            let first = properties.count
            for (index, rule) in rules.enumerated() {
                let located = Located(name: item.name, path: "\(item.path)[\(index)]", line: rule.line, value: rule)
                guard let rule = property(located) else { continue }
                if properties[first...].contains(where: { $0.versions.overlaps(rule.versions) }) {
                    report(located, "two rules for one schema version")
                }
                properties.append(rule)
            }
        }
        return properties
    }

    private mutating func property(_ item: Located) -> Definition.Property? {
        let keys = [
            "type", "required", "one_of", "min", "max", "max_length", "accept_numeric_string", "schema_versions",
            "description",
        ]
        guard let members = object(item.value, item.path, keys: keys) else { return nil }
        _ = required(members, "type")
        let type: Definition.ValueType? = choice(members, "type")
        var property = Definition.Property(name: item.name, type: type ?? .string, versions: contract.schemaVersions)
        property.isRequired = members["required"].flatMap { boolean($0) } ?? false
        property.summary = members["description"].flatMap { text($0, length: 10_000) }
        if let value = members["schema_versions"] { readVersions(value, of: &property) }
        guard let type else { return property }
        if let value = only(members, "max_length", for: .string, type) {
            property.maximumLength = integer(value, in: 0...1_000_000)
        }
        if let value = only(members, "accept_numeric_string", for: .number, type) {
            property.acceptsNumericString = boolean(value) ?? false
        }
        property.minimum = only(members, "min", for: .number, type).flatMap { number($0) }
        property.maximum = only(members, "max", for: .number, type).flatMap { number($0) }
        if let least = property.minimum, let most = property.maximum, least > most {
            report(item, "min is above max")
        }
        if let value = members["one_of"] { readChoices(value, of: &property) }
        return property
    }

    private mutating func readVersions(_ value: Located, of property: inout Definition.Property) {
        guard let members = object(value.value, value.path, keys: ["min", "max"]) else { return }
        let window = contract.schemaVersions
        let least = members["min"].map { integer($0, in: window) } ?? window.lowerBound
        let most = members["max"].map { integer($0, in: window) } ?? window.upperBound
        guard let least, let most else { return }
        guard least <= most else { return report(value, "min is above max") }
        property.versions = least...most
    }

    private mutating func readChoices(_ value: Located, of property: inout Definition.Property) {
        guard let elements = list(value) else { return }
        if elements.isEmpty { report(value, "one_of cannot be empty") }
        for element in elements {
            switch (property.type, element.value.value) {
            case (.string, .string(let text)): property.oneOfStrings.append(text)
            case (.number, .integer(let number)): property.oneOfNumbers.append(Double(number))
            case (.number, .number(let number)): property.oneOfNumbers.append(number)
            default: report(element, "must be a \(property.type.rawValue), not \(element.value.kindName)")
            }
        }
        if property.type == .boolean { report(value, "a boolean has no one_of") }
    }

    private mutating func only(
        _ members: Members,
        _ key: String,
        for wanted: Definition.ValueType,
        _ type: Definition.ValueType
    ) -> Located? {
        guard let value = members[key] else { return nil }
        if type == wanted { return value }
        report(value, "only a property of type \(wanted.rawValue) has \(key)")
        return nil
    }
}

// MARK: - Typed access

extension ContractReader {
    /// A value with its name and the place to name in a problem.
    struct Located {
        var name: String
        var path: String
        var line: Int
        var value: JSON5
    }

    /// The members of an object by key.
    struct Members {
        var path: String
        var line: Int
        var values: [String: Located]

        subscript(key: String) -> Located? { values[key] }
    }

    private mutating func report(_ place: Located, _ text: String) { report(place.path, place.line, text) }

    private mutating func report(_ path: String, _ line: Int, _ text: String) {
        problems.append(Problem(path: path, line: line, text: text))
    }

    /// The members of an object that may have only `keys`; nil when it is no object.
    private mutating func object(_ value: JSON5, _ path: String, keys: [String]) -> Members? {
        guard case .object(let members) = value.value else {
            report(path, value.line, "must be an object, not \(value.kindName)")
            return nil
        }
        var found = Members(path: path, line: value.line, values: [:])
        for member in members {
            let place = path.isEmpty ? member.key : "\(path).\(member.key)"
            if keys.contains(where: { $0.utf8.elementsEqual(member.key.utf8) }) {
                found.values[member.key] = Located(
                    name: member.key,
                    path: place,
                    line: member.line,
                    value: member.value
                )
            } else {
                report(place, member.line, "unknown key; known here are \(keys.joined(separator: ", "))")
            }
        }
        return found
    }

    /// The members of an object whose keys are names that the contract gives.
    private mutating func named(_ place: Located) -> [Located] {
        guard case .object(let members) = place.value.value else {
            report(place, "must be an object, not \(place.value.kindName)")
            return []
        }
        return members.compactMap { member in
            let path = "\(place.path).\(member.key)"
            let item = Located(name: member.key, path: path, line: member.line, value: member.value)
            return isName(item) ? item : nil
        }
    }

    private mutating func isName(_ item: Located) -> Bool {
        let isGood =
            (1...100).contains(item.name.unicodeScalars.count)
            && item.name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
        if !isGood { report(item, "a name has 1 to 100 characters and no control characters") }
        return isGood
    }

    private mutating func list(_ place: Located) -> [Located]? {
        guard case .array(let elements) = place.value.value else {
            report(place, "must be a list, not \(place.value.kindName)")
            return nil
        }
        return elements.enumerated().map { index, element in
            Located(name: "", path: "\(place.path)[\(index)]", line: element.line, value: element)
        }
    }

    /// A list of names, all different.
    private mutating func names(_ place: Located) -> [String] {
        var names: [String] = []
        for element in list(place) ?? [] {
            guard let name = text(element, length: 50) else { continue }
            if names.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
                report(element, "\(name) stands twice")
            } else {
                names.append(name)
            }
        }
        return names
    }

    private mutating func required(_ members: Members, _ key: String) -> Located? {
        if let value = members[key] { return value }
        report(members.path.isEmpty ? key : "\(members.path).\(key)", members.line, "missing")
        return nil
    }

    private mutating func text(_ place: Located, length: Int) -> String? {
        guard case .string(let text) = place.value.value else {
            report(place, "must be a string, not \(place.value.kindName)")
            return nil
        }
        guard (1...length).contains(text.unicodeScalars.count), !text.utf8.contains(0) else {
            report(place, "must have 1 to \(length) characters and no NUL")
            return nil
        }
        return text
    }

    private mutating func boolean(_ place: Located) -> Bool? {
        if case .boolean(let value) = place.value.value { return value }
        report(place, "must be true or false, not \(place.value.kindName)")
        return nil
    }

    private mutating func integer(_ place: Located, in range: ClosedRange<Int>) -> Int? {
        if case .integer(let value) = place.value.value, range.contains(value) { return value }
        report(place, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    private mutating func number(_ place: Located) -> Double? {
        switch place.value.value {
        case .integer(let value): return Double(value)
        case .number(let value): return value
        default:
            report(place, "must be a number, not \(place.value.kindName)")
            return nil
        }
    }

    private mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ members: Members,
        _ key: String
    ) -> Choice? where Choice.RawValue == String {
        guard let place = members[key] else { return nil }
        if case .string(let text) = place.value.value, let choice = Choice(rawValue: text) { return choice }
        let known = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        report(place, "must be one of \(known)")
        return nil
    }
}
