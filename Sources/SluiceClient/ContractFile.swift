// SPDX-License-Identifier: Apache-2.0

/// The members of a contract file that a client judges by.
struct ContractFile: Decodable, Sendable {
    struct Window: Decodable, Sendable {
        var min: Int?
        var max: Int?
    }

    struct Event: Decodable, Sendable {
        var properties: [String: Rules]?
        var source: String?
        var durability: String?
        var expiresAfterSeconds: Int?
        var unlistedProperties: String?
        var emailLike: String?

        private enum CodingKeys: String, CodingKey {
            case properties
            case source
            case durability
            case expiresAfterSeconds = "expires_after_s"
            case unlistedProperties = "unlisted_properties"
            case emailLike = "email_like"
        }
    }

    /// One rule, or one for each range of schema versions.
    struct Rules: Decodable, Sendable {
        var list: [Property]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            do {
                list = try container.decode([Property].self)
            } catch DecodingError.typeMismatch {
                list = [try container.decode(Property.self)]
            }
        }
    }

    struct Property: Decodable, Sendable {
        var type: String
        var required: Bool?
        var oneOf: [Choice]?
        var min: Double?
        var max: Double?
        var maximumLength: Int?
        var acceptsNumericString: Bool?
        var schemaVersions: Window?

        private enum CodingKeys: String, CodingKey {
            case type
            case required
            case oneOf = "one_of"
            case min
            case max
            case maximumLength = "max_length"
            case acceptsNumericString = "accept_numeric_string"
            case schemaVersions = "schema_versions"
        }

        func isFor(_ version: Int) -> Bool {
            version >= schemaVersions?.min ?? .min && version <= schemaVersions?.max ?? .max
        }

        func allows(_ value: SluiceValue) -> Bool {
            switch (type, value) {
            case ("boolean", .bool): true
            case ("number", .number(let number)): isInside(number)
            case ("number", .integer(let number)): isInside(Double(number))
            case ("number", .string(let text)):
                acceptsNumericString == true && Double(text).map { isInside($0) } ?? false
            case ("string", .string(let text)): isInside(text)
            default: false
            }
        }

        private func isInside(_ number: Double) -> Bool {
            guard number >= min ?? -.infinity, number <= max ?? .infinity else { return false }
            return oneOf?.contains { $0.isNumber(number) } ?? true
        }

        private func isInside(_ text: String) -> Bool {
            guard text.unicodeScalars.count <= maximumLength ?? .max else { return false }
            return oneOf?.contains { $0.isText(text) } ?? true
        }
    }

    enum Choice: Decodable, Sendable {
        case text(String)
        case number(Double)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            do {
                self = .text(try container.decode(String.self))
            } catch DecodingError.typeMismatch {
                self = .number(try container.decode(Double.self))
            }
        }

        func isText(_ other: String) -> Bool {
            guard case .text(let text) = self else { return false }
            return text.utf8.elementsEqual(other.utf8)
        }

        func isNumber(_ other: Double) -> Bool {
            guard case .number(let number) = self else { return false }
            return number == other
        }
    }

    var events: [String: Event]
    var commonProperties: [String: Rules]?
    var experiments: [String]?
    var onUnknown: String?
    var unlistedProperties: String?
    var emailLike: String?

    private enum CodingKeys: String, CodingKey {
        case events
        case commonProperties = "common_properties"
        case experiments
        case onUnknown = "on_unknown"
        case unlistedProperties = "unlisted_properties"
        case emailLike = "email_like"
    }
}
