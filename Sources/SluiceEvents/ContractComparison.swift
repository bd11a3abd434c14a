// SPDX-License-Identifier: Apache-2.0

/// What changes for apps and queries when one contract takes another's place.
///
/// A change breaks when something that the old contract took whole is refused, set aside, loses a part, may expire, or
/// arrives elsewhere under the new one. What was removed before and is kept now only widens.
package struct ContractComparison: Sendable {
    package struct Change: Hashable, Sendable {
        package enum Effect: String, Hashable, Sendable { case breaks, widens }

        package var effect: Effect
        /// The dotted path of the key in the contract's file.
        package var path: String
        package var text: String
    }

    /// In the order of the file, the old events first; each told once.
    package private(set) var changes: [Change] = []
    private let old: ContractDefinition
    private let new: ContractDefinition
    private var told: Set<Change> = []

    package var breakCount: Int { changes.count { $0.effect == .breaks } }

    package init(from old: ContractDefinition, to new: ContractDefinition) {
        self.old = old
        self.new = new
        compareWindow()
        compareNames("platforms", old.platforms, new.platforms, lost: "events of this platform are refused")
        compareDefaults()
        compareOnUnknown()
        compareUnlisted("unlisted_properties", old.unlisted, new.unlisted)
        compareEmailLike("email_like", old.emailLike, new.emailLike)
        compareNames(
            "experiments",
            old.experiments,
            new.experiments,
            lost: new.unlisted == .reject ? "events with it are refused" : "its variants are removed from events"
        )
        compareEvents()
    }

    mutating func note(_ effect: Change.Effect, _ path: String, _ text: String) {
        let change = Change(effect: effect, path: path, text: text)
        if told.insert(change).inserted { changes.append(change) }
    }

    /// What happens now to events and versions that are no longer listed.
    private var fate: String { new.onUnknown == .reject ? "refused" : "set aside and not sent" }

    // MARK: The whole

    private mutating func compareWindow() {
        let (before, after) = (old.schemaVersions, new.schemaVersions)
        if after.lowerBound > before.lowerBound {
            let lost = before.lowerBound...min(before.upperBound, after.lowerBound - 1)
            note(.breaks, "schema_versions.min", "\(Self.versions(lost)) is \(fate); min was \(before.lowerBound)")
        } else if after.lowerBound < before.lowerBound {
            note(.widens, "schema_versions.min", "\(after.lowerBound), was \(before.lowerBound)")
        }
        if after.upperBound < before.upperBound {
            let lost = max(before.lowerBound, after.upperBound + 1)...before.upperBound
            note(.breaks, "schema_versions.max", "\(Self.versions(lost)) is \(fate); max was \(before.upperBound)")
        } else if after.upperBound > before.upperBound {
            note(.widens, "schema_versions.max", "\(after.upperBound), was \(before.upperBound)")
        }
    }

    static func versions(_ range: ClosedRange<Int>) -> String {
        range.count == 1
            ? "schema_version \(range.lowerBound)" : "schema_version \(range.lowerBound) to \(range.upperBound)"
    }

    private mutating func compareNames(_ path: String, _ before: [String], _ after: [String], lost: String) {
        for name in before where !after.contains(bytesOf: name) { note(.breaks, path, "\(name) is gone: \(lost)") }
        for name in after where !before.contains(bytesOf: name) { note(.widens, path, "\(name) is new") }
    }

    private mutating func compareDefaults() {
        var clients: [String] = []
        for name in (old.defaults + new.defaults).map(\.client) where !clients.contains(bytesOf: name) {
            clients.append(name)
        }
        for client in clients {
            let (before, after) = (old.effectiveDefaults(for: client), new.effectiveDefaults(for: client))
            let path = "defaults.\(client)"
            compareDefault("\(path).platform", before.platform, after.platform)
            compareDefault("\(path).schema_version", before.schemaVersion, after.schemaVersion)
        }
    }

    private mutating func compareDefault<Value: Equatable>(_ path: String, _ before: Value?, _ after: Value?) {
        switch (before, after) {
        case (nil, nil): break
        case (let before?, nil): note(.breaks, path, "gone, was \(before): events that leave it out are refused")
        case (nil, let after?): note(.widens, path, "\(after) is new")
        case (let before?, let after?) where before != after:
            note(.breaks, path, "\(after), was \(before): events that leave it out count as something else")
        default: break
        }
    }

    private mutating func compareOnUnknown() {
        guard old.onUnknown != new.onUnknown else { return }
        if new.onUnknown == .reject {
            note(.breaks, "on_unknown", "reject, was quarantine: events that are not listed are refused, not kept")
        } else {
            note(.widens, "on_unknown", "quarantine, was reject")
        }
    }

    mutating func compareUnlisted(
        _ path: String,
        _ before: ContractDefinition.Unlisted,
        _ after: ContractDefinition.Unlisted
    ) {
        guard before != after else { return }
        if after == .reject {
            note(.breaks, path, "reject, was remove: events with properties that are not listed are refused")
        } else {
            note(.widens, path, "remove, was reject")
        }
    }

    mutating func compareEmailLike(
        _ path: String,
        _ before: ContractDefinition.EmailLike,
        _ after: ContractDefinition.EmailLike
    ) {
        func strictness(_ value: ContractDefinition.EmailLike) -> Int {
            switch value {
            case .allow: 0
            case .remove: 1
            case .reject: 2
            }
        }
        let text = "\(after.rawValue), was \(before.rawValue)"
        if strictness(after) > strictness(before) {
            let fate = after == .reject ? "their events are refused" : "they are removed from events"
            note(.breaks, path, "\(text): for values that look like e-mail addresses, \(fate)")
        } else if strictness(after) < strictness(before) {
            note(.widens, path, text)
        }
    }

    // MARK: Events

    private mutating func compareEvents() {
        for before in old.events {
            if let after = new.events.first(where: { $0.name.isSameBytes(as: before.name) }) {
                compare(before, after)
            } else {
                note(.breaks, "events.\(before.name)", "gone: the event is \(fate)")
            }
        }
        for after in new.events where !old.events.contains(where: { $0.name.isSameBytes(as: after.name) }) {
            let before = old.onUnknown == .reject ? "refused" : "set aside"
            note(.widens, "events.\(after.name)", "new: the event was \(before) before")
        }
    }

    private mutating func compare(_ before: ContractDefinition.Event, _ after: ContractDefinition.Event) {
        let path = "events.\(before.name)"
        if before.source != after.source {
            let text =
                after.source == .server
                ? "server, was app: apps that send it are refused"
                : "app, was server: it is refused without the fields that only servers may leave out"
            note(.breaks, "\(path).source", text)
        }
        if !(before.collection ?? "").isSameBytes(as: after.collection ?? "") {
            let (new, old) = (after.collection ?? "the default", before.collection ?? "the default")
            note(.breaks, "\(path).collection", "\(new), was \(old): queries on the old collection miss it")
        }
        compareExpiry(path, before, after)
        // What the contract as a whole changed was told there.
        if before.unlisted != old.unlisted || after.unlisted != new.unlisted {
            compareUnlisted("\(path).unlisted_properties", before.unlisted, after.unlisted)
        }
        if before.emailLike != old.emailLike || after.emailLike != new.emailLike {
            compareEmailLike("\(path).email_like", before.emailLike, after.emailLike)
        }
        compareProperties(before, after)
    }

    private mutating func compareExpiry(
        _ path: String,
        _ before: ContractDefinition.Event,
        _ after: ContractDefinition.Event
    ) {
        let path = "\(path).expires_after_s"
        switch (before.expiresAfterSeconds, after.expiresAfterSeconds) {
        case (nil, let after?): note(.breaks, path, "\(after) is new: the event may expire undelivered")
        case (let before?, nil): note(.widens, path, "gone, was \(before)")
        case (let before?, let after?) where after < before:
            note(.breaks, path, "\(after), was \(before): the event may expire sooner")
        case (let before?, let after?) where after > before: note(.widens, path, "\(after), was \(before)")
        default: break
        }
    }

    /// Compares the rules that hold in each schema version that both contracts take.
    private mutating func compareProperties(
        _ before: ContractDefinition.Event,
        _ after: ContractDefinition.Event
    ) {
        let least = max(old.schemaVersions.lowerBound, new.schemaVersions.lowerBound)
        let most = min(old.schemaVersions.upperBound, new.schemaVersions.upperBound)
        guard least <= most else { return }
        var names: [String] = []
        for property in before.properties + after.properties where !names.contains(bytesOf: property.name) {
            names.append(property.name)
        }
        for name in names {
            let rules = (before.properties + after.properties).filter { $0.name.isSameBytes(as: name) }
            // Within two such bounds neither contract changes its rule.
            var bounds = Set(rules.flatMap { [$0.versions.lowerBound, $0.versions.upperBound + 1] })
            bounds = bounds.filter { $0 > least && $0 <= most }
            let starts = ([least] + bounds).sorted()
            for (index, start) in starts.enumerated() {
                let end = index + 1 < starts.count ? starts[index + 1] - 1 : most
                compare(
                    before.rule(for: name, in: start),
                    after.rule(for: name, in: start),
                    of: after,
                    wasRemoved: before.unlisted == .remove,
                    in: starts.count > 1 ? " (\(Self.versions(start...end)))" : ""
                )
            }
        }
    }
}

extension ContractDefinition {
    /// What is filled in for a client, those for all clients included.
    fileprivate func effectiveDefaults(for client: String) -> Defaults {
        let own = defaults.first { $0.client.isSameBytes(as: client) }
        let other = defaults.first { $0.client == "*" }
        return Defaults(
            client: client,
            platform: own?.platform ?? other?.platform,
            schemaVersion: own?.schemaVersion ?? other?.schemaVersion
        )
    }
}

extension ContractDefinition.Event {
    fileprivate func rule(for name: String, in version: Int) -> ContractDefinition.Property? {
        properties.first { $0.name.isSameBytes(as: name) && $0.versions.contains(version) }
    }
}

extension String {
    /// Names compare as bytes; `==` takes canonically equivalent ones for equal.
    func isSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension [String] {
    func contains(bytesOf name: String) -> Bool { contains { $0.isSameBytes(as: name) } }
}
