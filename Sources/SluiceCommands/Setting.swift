// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON

/// One setting: where it stands, what it takes, what it means, and how its value gets into a `Configuration`.
package struct Setting: Sendable {
    package var section: String
    /// Empty for a section whose keys are free.
    package var key: String
    /// What a value may be, in words that fit behind "takes".
    package var allowed: String
    package var defaultText: String
    /// One sentence.
    package var meaning: String
    /// The option that overrides it, on the commands that use it.
    package var flag: String?
    /// What stands for the value in a command's help.
    package var placeholder: String

    /// Puts a value in, or leaves all as it was and returns false when it is not allowed.
    let store: @Sendable (JSON5.Value, inout Configuration) -> Bool
    /// Reads the text of an environment variable or an option; nil when it cannot be a value of this kind.
    let read: @Sendable (String) -> JSON5.Value?
    let print: @Sendable (Configuration) -> String

    /// `relay.max_in_flight`.
    package var name: String { key.isEmpty ? section : "\(section).\(key)" }

    /// `SLUICE_RELAY_MAX_IN_FLIGHT`.
    package var environmentName: String {
        "SLUICE_\(name)".uppercased().replacing(".", with: "_")
    }

    /// The value in a configuration, as it would stand in a file.
    package func text(in configuration: Configuration) -> String { print(configuration) }
}

/// Where a setting's value stands in a configuration.
typealias SettingPath<Value> = any WritableKeyPath<Configuration, Value> & Sendable

extension Setting {
    private static func plain(_ text: String) -> JSON5.Value? { .string(text) }

    static func text(
        _ name: (String, String),
        _ path: SettingPath<String>,
        allowed: String = "a text",
        where isAllowed: @escaping @Sendable (String) -> Bool = { !$0.isEmpty },
        flag: String? = nil,
        placeholder: String = "TEXT",
        _ meaning: String
    ) -> Setting {
        Setting(
            name,
            allowed: allowed,
            meaning: meaning,
            flag: flag,
            placeholder: placeholder,
            store: { value, configuration in
                guard case .string(let text) = value, isAllowed(text) else { return false }
                configuration[keyPath: path] = text
                return true
            },
            read: plain,
            print: { String(jsonString: $0[keyPath: path]) }
        )
    }

    static func optionalText(
        _ name: (String, String),
        _ path: SettingPath<String?>,
        allowed: String = "a text or null",
        where isAllowed: @escaping @Sendable (String) -> Bool = { !$0.isEmpty },
        flag: String? = nil,
        placeholder: String = "TEXT",
        _ meaning: String
    ) -> Setting {
        Setting(
            name,
            allowed: allowed,
            meaning: meaning,
            flag: flag,
            placeholder: placeholder,
            store: { value, configuration in
                switch value {
                case .null: configuration[keyPath: path] = nil
                case .string(let text) where isAllowed(text): configuration[keyPath: path] = text
                default: return false
                }
                return true
            },
            read: { $0 == "null" ? .null : .string($0) },
            print: { $0[keyPath: path].map(String.init(jsonString:)) ?? "null" }
        )
    }

    static func integer(
        _ name: (String, String),
        _ path: SettingPath<Int>,
        _ range: ClosedRange<Int>,
        _ unit: String,
        _ meaning: String
    ) -> Setting {
        Setting(
            name,
            allowed: "a whole number of \(unit) from \(range.lowerBound) to \(range.upperBound)",
            meaning: meaning,
            placeholder: "N",
            store: { value, configuration in
                guard case .integer(let number) = value, range.contains(number) else { return false }
                configuration[keyPath: path] = number
                return true
            },
            read: { Int($0).map { .integer($0) } },
            print: { String($0[keyPath: path]) }
        )
    }

    static func number(
        _ name: (String, String),
        _ path: SettingPath<Double>,
        _ range: ClosedRange<Double>,
        _ unit: String,
        _ meaning: String
    ) -> Setting {
        Setting(
            name,
            allowed: "a number of \(unit) from \(spelled(range.lowerBound)) to \(spelled(range.upperBound))",
            meaning: meaning,
            placeholder: "NUMBER",
            store: { value, configuration in
                guard let number = number(value), range.contains(number) else { return false }
                configuration[keyPath: path] = number
                return true
            },
            read: { Double($0).map { .number($0) } },
            print: { spelled($0[keyPath: path]) }
        )
    }

    static func seconds(
        _ name: (String, String),
        _ path: SettingPath<Duration>,
        _ range: ClosedRange<Double>,
        _ meaning: String
    ) -> Setting {
        Setting(
            name,
            allowed: "a number of seconds from \(spelled(range.lowerBound)) to \(spelled(range.upperBound))",
            meaning: meaning,
            placeholder: "SECONDS",
            store: { value, configuration in
                guard let number = number(value), range.contains(number) else { return false }
                configuration[keyPath: path] = .milliseconds((number * 1000).rounded())
                return true
            },
            read: { Double($0).map { .number($0) } },
            print: { spelled($0[keyPath: path] / .seconds(1)) }
        )
    }

    static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: (String, String),
        _ path: SettingPath<Choice>,
        flag: String? = nil,
        placeholder: String = "WORD",
        _ meaning: String
    ) -> Setting {
        Setting(
            name,
            allowed: Choice.allCases.map { String(jsonString: $0.rawValue) }.joined(separator: ", "),
            meaning: meaning,
            flag: flag,
            placeholder: placeholder,
            store: { value, configuration in
                guard case .string(let text) = value, let choice = Choice(rawValue: text) else { return false }
                configuration[keyPath: path] = choice
                return true
            },
            read: plain,
            print: { String(jsonString: $0[keyPath: path].rawValue) }
        )
    }

    static func address(
        _ name: (String, String),
        _ path: SettingPath<ListenAddress>,
        flag: String,
        _ meaning: String
    ) -> Setting {
        Setting(
            name,
            allowed: "\"ADDRESS:PORT\" with a numeric address, port 0 for any free one",
            meaning: meaning,
            flag: flag,
            placeholder: "ADDRESS:PORT",
            store: { value, configuration in
                guard case .string(let text) = value, let address = ListenAddress(parsing: text) else { return false }
                configuration[keyPath: path] = address
                return true
            },
            read: plain,
            print: { String(jsonString: $0[keyPath: path].description) }
        )
    }

    static func optionalAddress(
        _ name: (String, String),
        _ path: SettingPath<ListenAddress?>,
        flag: String,
        _ meaning: String
    ) -> Setting {
        Setting(
            name,
            allowed: "\"ADDRESS:PORT\" with a numeric address, port 0 for any free one, or \"off\"",
            meaning: meaning,
            flag: flag,
            placeholder: "ADDRESS:PORT",
            store: { value, configuration in
                guard case .string(let text) = value else { return false }
                if text == "off" {
                    configuration[keyPath: path] = nil
                    return true
                }
                guard let address = ListenAddress(parsing: text) else { return false }
                configuration[keyPath: path] = address
                return true
            },
            read: plain,
            print: { String(jsonString: $0[keyPath: path]?.description ?? "off") }
        )
    }

    static func list(
        _ name: (String, String),
        _ path: SettingPath<[String]>,
        allowed: String,
        where isAllowed: @escaping @Sendable (String) -> Bool = { !$0.isEmpty },
        _ meaning: String
    ) -> Setting {
        Setting(
            name,
            allowed: allowed,
            meaning: meaning,
            placeholder: "A,B",
            store: { value, configuration in
                guard case .array(let elements) = value else { return false }
                var texts: [String] = []
                for element in elements {
                    guard case .string(let text) = element.value, isAllowed(text) else { return false }
                    texts.append(text)
                }
                configuration[keyPath: path] = texts
                return true
            },
            read: { text in
                .array(text.split(separator: ",").map { JSON5(value: .string($0.trimmed), line: 1) })
            },
            print: { "[\($0[keyPath: path].map(String.init(jsonString:)).joined(separator: ", "))]" }
        )
    }

    /// The section of the clients, whose keys are their names.
    static func clients(_ section: String, _ meaning: String) -> Setting {
        Setting(
            (section, ""),
            allowed: "an object such as { \"ios-prod\": { collection: \"ios\", platform: \"ios\" } }",
            meaning: meaning,
            placeholder: "JSON5",
            store: { value, configuration in
                guard let clients = clients(value) else { return false }
                configuration.clients = clients
                return true
            },
            read: { (try? JSON5(parsing: Array($0.utf8)))?.value },  // no JSON5: not allowed
            print: { configuration in
                let clients = configuration.clients.map { "\(String(jsonString: $0.name)): \(text($0.client))" }
                return "{\(clients.joined(separator: ", "))}"
            }
        )
    }

    private static func clients(_ value: JSON5.Value) -> [(name: String, client: Configuration.Client)]? {
        guard case .object(let members) = value else { return nil }
        var clients: [(name: String, client: Configuration.Client)] = []
        for member in members {
            guard case .object(let fields) = member.value.value, !member.key.isEmpty else { return nil }
            var client = Configuration.Client()
            for field in fields {
                guard case .string(let text) = field.value.value, !text.isEmpty else { return nil }
                switch field.key {
                case "collection": client.collection = text
                case "platform": client.platform = text
                default: return nil
                }
            }
            clients.append((member.key, client))
        }
        return clients.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private static func text(_ client: Configuration.Client) -> String {
        let fields = [("collection", client.collection), ("platform", client.platform)].compactMap { name, value in
            value.map { "\(name): \(String(jsonString: $0))" }
        }
        return "{\(fields.joined(separator: ", "))}"
    }

    private init(
        _ name: (String, String),
        allowed: String,
        meaning: String,
        flag: String? = nil,
        placeholder: String,
        store: @escaping @Sendable (JSON5.Value, inout Configuration) -> Bool,
        read: @escaping @Sendable (String) -> JSON5.Value?,
        print: @escaping @Sendable (Configuration) -> String
    ) {
        self.init(
            section: name.0,
            key: name.1,
            allowed: allowed,
            defaultText: print(Configuration()),
            meaning: meaning,
            flag: flag,
            placeholder: placeholder,
            store: store,
            read: read,
            print: print
        )
    }

    private static func number(_ value: JSON5.Value) -> Double? {
        switch value {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    private static func spelled(_ number: Double) -> String {
        Int(exactly: number).map { String($0) } ?? String(number)
    }
}

extension Substring {
    fileprivate var trimmed: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
