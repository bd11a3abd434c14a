// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

/// The rules for one event; its memory is the contract's.
struct EventRule: BitwiseCopyable {
    /// The name as a JSON string.
    var name: UnsafeRawBufferPointer
    /// The collection's name as a JSON string; empty when the event does not choose one.
    var collection: UnsafeRawBufferPointer
    var propertyNames: NameIndex
    /// In byte order of their names.
    var properties: UnsafeBufferPointer<PropertyRule>
    /// Numbers of the properties that some schema version requires.
    var required: UnsafeBufferPointer<Int>
    var isServerOnly: Bool
    /// Seconds from receipt; 0 means never.
    var expiresAfter: Int
    var rejectsUnlisted: Bool
    var emailLike: EmailLikePolicy
}

enum EmailLikePolicy: UInt8, BitwiseCopyable { case reject, remove, allow }

/// The rules for one property of one event.
struct PropertyRule: BitwiseCopyable {
    /// The name as a JSON key with its colon.
    var key: UnsafeRawBufferPointer
    /// The plain name.
    var name: UnsafeRawBufferPointer
    /// One for each range of schema versions.
    var constraints: UnsafeBufferPointer<PropertyConstraint>

    /// The constraint for a schema version, or nil when the property is not listed in it.
    @inline(__always)
    func constraint(for version: Int) -> UnsafePointer<PropertyConstraint>? {
        for index in 0..<constraints.count {
            let constraint = constraints.baseAddress.unsafelyUnwrapped + index
            if constraint.pointee.firstVersion <= version && version <= constraint.pointee.lastVersion {
                return constraint
            }
        }
        return nil
    }
}

struct PropertyConstraint: BitwiseCopyable {
    var firstVersion: Int
    var lastVersion: Int
    var type: ValueType
    var isRequired: Bool
    var acceptsNumericString: Bool
    var hasRange: Bool
    var hasChoices: Bool
    var minimum: Double
    var maximum: Double
    /// Unicode scalars.
    var maximumLength: Int
    var strings: NameIndex
    var numbers: UnsafeBufferPointer<Double>

    enum ValueType: UInt8, BitwiseCopyable { case string, number, boolean }
}

/// What is filled in for a client.
struct ClientDefaults: BitwiseCopyable {
    /// As a JSON string; empty for none.
    var platform: UnsafeRawBufferPointer
    /// -1 for none.
    var schemaVersion: Int
}

/// Turns a contract's definition into tables in an arena.
struct ContractCompiler {
    let arena: Arena
    let definition: ContractDefinition

    func rule(for event: ContractDefinition.Event) -> EventRule {
        // The definition's properties are sorted, so the rules of one name stand together.
        var groups: [[ContractDefinition.Property]] = []
        for property in event.properties {
            if let last = groups.last?.first, last.name.utf8.elementsEqual(property.name.utf8) {
                groups[groups.count - 1].append(property)
            } else {
                groups.append([property])
            }
        }
        let properties = groups.map { group in
            PropertyRule(
                key: key(group[0].name),
                name: arena.text(group[0].name),
                constraints: arena.array(group.map { constraint($0) })
            )
        }
        return EventRule(
            name: string(event.name),
            collection: event.collection.map { string($0) } ?? none,
            propertyNames: NameIndex(groups.map { $0[0].name }, in: arena),
            properties: arena.array(properties),
            required: arena.array(groups.indices.filter { groups[$0].contains { $0.isRequired } }),
            isServerOnly: event.source == .server,
            expiresAfter: event.expiresAfterSeconds ?? 0,
            rejectsUnlisted: event.unlisted == .reject,
            emailLike: EmailLikePolicy(event.emailLike)
        )
    }

    private func constraint(_ property: ContractDefinition.Property) -> PropertyConstraint {
        PropertyConstraint(
            firstVersion: property.versions.lowerBound,
            lastVersion: property.versions.upperBound,
            type: PropertyConstraint.ValueType(property.type),
            isRequired: property.isRequired,
            acceptsNumericString: property.acceptsNumericString,
            hasRange: property.minimum != nil || property.maximum != nil,
            hasChoices: !property.oneOfStrings.isEmpty || !property.oneOfNumbers.isEmpty,
            minimum: property.minimum ?? -.infinity,
            maximum: property.maximum ?? .infinity,
            maximumLength: property.maximumLength ?? .max,
            strings: NameIndex(unique(property.oneOfStrings), in: arena),
            numbers: arena.array(property.oneOfNumbers)
        )
    }

    func defaults(_ own: ContractDefinition.Defaults?, else other: ContractDefinition.Defaults?) -> ClientDefaults {
        ClientDefaults(
            platform: (own?.platform ?? other?.platform).map { string($0) } ?? none,
            schemaVersion: own?.schemaVersion ?? other?.schemaVersion ?? -1
        )
    }

    func key(_ name: String) -> UnsafeRawBufferPointer {
        var buffer = ByteBuffer()
        buffer.append(jsonString: name)
        buffer.append(":")
        return arena.text(buffer.bytes)
    }

    private func string(_ text: String) -> UnsafeRawBufferPointer {
        var buffer = ByteBuffer()
        buffer.append(jsonString: text)
        return arena.text(buffer.bytes)
    }

    private func unique(_ texts: [String]) -> [String] {
        var seen: Set<[UInt8]> = []
        return texts.filter { seen.insert(Array($0.utf8)).inserted }
    }

    private var none: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
}

extension EmailLikePolicy {
    init(_ policy: ContractDefinition.EmailLike) {
        switch policy {
        case .reject: self = .reject
        case .remove: self = .remove
        case .allow: self = .allow
        }
    }
}

extension PropertyConstraint.ValueType {
    init(_ type: ContractDefinition.ValueType) {
        switch type {
        case .string: self = .string
        case .number: self = .number
        case .boolean: self = .boolean
        }
    }
}
