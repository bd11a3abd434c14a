// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

/// What sample events have in common: the facts that a first contract is drafted from.
///
/// It sees names, types, lengths and ranges, and keeps values only where a property has a few of them. Everything is
/// bounded; what goes beyond is counted and left out of the draft.
package struct ContractSketch {
    /// Event names that are told apart.
    static let maximumEvents = 2000
    /// Properties of one event that are told apart.
    static let maximumProperties = 500

    /// Events that were looked at.
    package private(set) var samples = 0
    /// Events beyond those that are told apart, or without a name.
    package private(set) var ignored = 0
    private(set) var events: [[UInt8]: SampledEvent] = [:]
    private(set) var platforms: [[UInt8]: Int] = [:]
    private(set) var versions: [Int: Int] = [:]
    private(set) var experiments: [[UInt8]: Int] = [:]
    private(set) var withoutPlatform = 0
    private(set) var withoutVersion = 0
    /// Most values that a property may have for a `one_of`.
    let maximumChoices: Int
    private let parser = JSONParser(maximumBytes: 64 << 20)

    /// * `maximumChoices`: strings that make a closed set; 0 never makes one.
    package init(maximumChoices: Int = 10) { self.maximumChoices = min(maximumChoices, SampledProperty.keptTexts) }

    /// Looks at an envelope or a body `{"events":[…]}`; what cannot be parsed is left to the judgement of the draft.
    ///
    /// * `document`: followed by `ByteBuffer.padding` readable bytes.
    package mutating func add(_ document: UnsafeRawBufferPointer) {
        guard let parsed = try? parser.parse(document), parsed[0].kind == .object else {
            ignored += 1
            return
        }
        if let events = parsed.value(of: "events", in: 0), parsed[events].kind == .array {
            for element in parsed.elements(of: events) { add(parsed, element) }
        } else {
            add(parsed, 0)
        }
    }

    private mutating func add(_ document: JSONDocument, _ index: Int) {
        samples += 1
        guard document[index].kind == .object, let name = document.value(of: "event", in: index),
            document[name].kind == .string
        else {
            ignored += 1
            return
        }
        let key = Array(document.text(document[name]))
        guard events[key] != nil || events.count < Self.maximumEvents else {
            ignored += 1
            return
        }
        let version = addVersion(document, index)
        let isServer = addPlatform(document, index)
        if let value = document.value(of: "experiments", in: index) {
            for member in document.members(of: value) {
                experiments[Array(document.text(document[member.key])), default: 0] += 1
            }
        }
        var event = events.removeValue(forKey: key) ?? SampledEvent()
        event.add(version: version)
        let required: [StaticString] = ["anonymous_id", "session_id", "app_version", "build_number"]
        if isServer || required.contains(where: { isAbsent(document, $0, index) }) { event.serverLike += 1 }
        if let properties = document.value(of: "properties", in: index) {
            for member in document.members(of: properties) {
                event.add(document, member.key, member.value, version: version, maximumChoices)
            }
        }
        events[key] = event
    }

    private func isAbsent(_ document: JSONDocument, _ name: StaticString, _ index: Int) -> Bool {
        document.value(of: name, in: index).map { document[$0].kind == .null } ?? true
    }

    /// - Returns: nil when the event has none that a contract could list.
    private mutating func addVersion(_ document: JSONDocument, _ index: Int) -> Int? {
        guard let value = document.value(of: "schema_version", in: index), document[value].kind != .null else {
            withoutVersion += 1
            return nil
        }
        guard let version = document.integer(document[value]), (0...1_000_000).contains(version),
            versions[version] != nil || versions.count < 1000
        else { return nil }
        versions[version, default: 0] += 1
        return version
    }

    /// - Returns: whether it is a server's.
    private mutating func addPlatform(_ document: JSONDocument, _ index: Int) -> Bool {
        guard let value = document.value(of: "platform", in: index), document[value].kind == .string else {
            withoutPlatform += 1
            return false
        }
        let text = document.text(document[value])
        if text.elementsEqual(ContractDefinition.serverPlatform.utf8) { return true }
        guard text.hasAtMost(scalars: 50), !text.isEmpty, !text.has(0) else { return false }
        let key = Array(text)
        if platforms[key] != nil || platforms.count < 50 { platforms[key, default: 0] += 1 }
        return false
    }
}

/// The samples of one event.
struct SampledEvent {
    private(set) var count = 0
    /// Samples that only a server may state.
    var serverLike = 0
    /// By schema version; those without one stand under -1.
    private(set) var versions: [Int: Int] = [:]
    private(set) var properties: [[UInt8]: SampledProperty] = [:]
    /// Values of properties beyond those that are told apart.
    private(set) var ignored = 0

    mutating func add(version: Int?) {
        count += 1
        versions[version ?? -1, default: 0] += 1
    }

    mutating func add(_ document: JSONDocument, _ key: Int, _ value: Int, version: Int?, _ maximumChoices: Int) {
        let name = Array(document.text(document[key]))
        guard properties[name] != nil || properties.count < ContractSketch.maximumProperties else {
            ignored += 1
            return
        }
        var property = properties.removeValue(forKey: name) ?? SampledProperty()
        property.add(document, value, version: version)
        properties[name] = property
    }
}

/// The values of one property of one event.
struct SampledProperty {
    /// Different texts that are kept.
    static let keptTexts = 50
    /// Longer texts are no choices.
    static let longestChoice = 50

    private(set) var count = 0
    private(set) var strings = 0
    private(set) var numbers = 0
    private(set) var booleans = 0
    private(set) var nulls = 0
    private(set) var containers = 0
    /// Strings that are numbers.
    private(set) var numericStrings = 0
    private(set) var emails = 0
    private(set) var hasNUL = false
    private(set) var longest = 0
    private(set) var least = Double.infinity
    private(set) var most = -Double.infinity
    /// By schema version; values of events without one stand under -1.
    private(set) var versions: [Int: Int] = [:]
    /// nil when there are too many, or they are too long.
    private(set) var texts: [[UInt8]: Int]? = [:]

    mutating func add(_ document: JSONDocument, _ index: Int, version: Int?) {
        count += 1
        versions[version ?? -1, default: 0] += 1
        let token = document[index]
        switch token.kind {
        case .string: add(text: document.text(token))
        case .integer, .number:
            numbers += 1
            add(number: document.double(token))
        case .true, .false: booleans += 1
        case .null: nulls += 1
        case .object, .array: containers += 1
        }
    }

    private mutating func add(number: Double) {
        least = min(least, number)
        most = max(most, number)
    }

    private mutating func add(text: UnsafeRawBufferPointer) {
        strings += 1
        let length = text.scalarCount
        longest = max(longest, length)
        if text.has(0) { hasNUL = true }
        if text.looksLikeEmail { emails += 1 }
        if JSONNumber.isKept(text) {
            numericStrings += 1
            add(number: JSONNumber.double(text))
        }
        guard texts != nil else { return }
        if length <= Self.longestChoice { texts?[Array(text), default: 0] += 1 } else { texts = nil }
        if texts?.count ?? 0 > Self.keptTexts { texts = nil }
    }
}
