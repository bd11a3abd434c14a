// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// The endpoint's contract on the device: the same file, so that what the endpoint would refuse is never queued.
///
/// It is a copy that may be older than the endpoint's; the endpoint has the last word.
public struct SluiceContract: Sendable {
    let file: ContractFile

    /// Reads a contract file, JSON5 as the endpoint reads it; members that do not matter here are passed over.
    ///
    /// - Throws: `SluiceError` with the code `invalidContract`.
    public init(_ json5: Data) throws(SluiceError) {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        do {
            file = try decoder.decode(ContractFile.self, from: json5)
        } catch {
            throw SluiceError(.invalidContract, "\(error)")
        }
    }

    /// What the endpoint would say to an event.
    package enum Verdict: Hashable, Sendable {
        /// It may be queued, without these properties and experiments.
        case allowed(removed: Set<String>)
        /// It would be refused.
        case refused(detail: String)
    }

    /// How long an event is worth sending, if it may expire at all.
    package func lifetime(of event: String) -> Duration? {
        guard let rule = file.events[event], rule.durability == "low" else { return nil }
        return rule.expiresAfterSeconds.map { .seconds($0) }
    }

    /// Judges an event as the endpoint does.
    package func verdict(
        event: String,
        properties: [String: SluiceValue],
        experiments: [String: String],
        schemaVersion: Int
    ) -> Verdict {
        guard let rule = file.events[event] else {
            return file.onUnknown == "quarantine"
                ? .allowed(removed: []) : .refused(detail: "the contract does not list the event")
        }
        if rule.source == "server" { return .refused(detail: "the event is for servers only") }
        let rejectsUnlisted = (rule.unlistedProperties ?? file.unlistedProperties) == "reject"
        let emailLike = rule.emailLike ?? file.emailLike ?? "reject"
        var removed: Set<String> = []
        for (name, value) in properties {
            guard let constraint = constraint(name, rule, schemaVersion) else {
                if ["token", "api_key", "collection"].contains(name) || rejectsUnlisted {
                    return .refused(detail: "property \(name) is not listed")
                }
                removed.insert(name)
                continue
            }
            if !constraint.allows(value) { return .refused(detail: "property \(name) breaks its rule") }
            guard emailLike != "allow", constraint.oneOf == nil, case .string(let text) = value,
                EmailLike.isFound(in: text)
            else { continue }
            if emailLike == "reject" { return .refused(detail: "property \(name) looks like an e-mail address") }
            removed.insert(name)
        }
        for name in experiments.keys where !(file.experiments ?? []).contains(name) {
            if rejectsUnlisted { return .refused(detail: "experiment \(name) is not listed") }
            removed.insert(name)
        }
        for name in requiredNames(rule, schemaVersion) where properties[name] == nil || removed.contains(name) {
            return .refused(detail: "property \(name) is missing")
        }
        return .allowed(removed: removed)
    }

    private func constraint(_ name: String, _ rule: ContractFile.Event, _ version: Int) -> ContractFile.Property? {
        let rules = rule.properties?[name] ?? file.commonProperties?[name]
        return rules?.list.first { $0.isFor(version) }
    }

    private func requiredNames(_ rule: ContractFile.Event, _ version: Int) -> [String] {
        let names = Set((rule.properties ?? [:]).keys).union((file.commonProperties ?? [:]).keys)
        return names.filter { constraint($0, rule, version)?.required == true }.sorted()
    }
}
