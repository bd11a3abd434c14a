// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents

/// Contracts and admissions that reach every rule.
struct FuzzRules {
    /// Five seconds after most inputs' events.
    static let receivedAt = 1_796_000_010

    /// What is not listed is refused; a phone that nobody knows.
    let strict: Contract
    /// What is not listed is set aside or removed; a server of one's own.
    let lenient: Contract
    let phone: Admission
    let server: Admission

    init() throws {
        strict = try Contract(
            parsing: Array(Self.text(#"on_unknown: "reject", unlisted_properties: "reject","#).utf8),
            file: ""
        )
        lenient = try Contract(
            parsing: Array(
                Self.text(#"on_unknown: "quarantine", unlisted_properties: "remove", email_like: "remove","#).utf8
            ),
            file: ""
        )
        var admission = Admission(receivedAt: Self.receivedAt, collection: "mobile_events")
        admission.unprovenUser = .claimed
        admission.client = "old"
        phone = admission
        admission = Admission(receivedAt: Self.receivedAt, collection: "mobile \"events\"")
        admission.isServer = true
        admission.environment = "staging"
        admission.clock = ClockPolicy(maximumAge: 3600, onAge: .clamp, maximumFuture: 60, onFuture: .reject)
        server = admission
    }

    private static func text(_ policies: String) -> String {
        """
        {
          contract_version: "fuzz-1", schema_versions: {min: 1, max: 3}, platforms: ["ios", "android", "web"],
          defaults: {"*": {platform: "ios", schema_version: 2}, old: {schema_version: 1}},
          \(policies)
          experiments: ["x", "new_export", "caf\u{E9}"],
          common_properties: {locale: {type: "string", max_length: 5}},
          events: {
            screen_view: {properties: {
              screen: {type: "string", max_length: 20},
              count: {type: "number", min: -10, max: 100000, accept_numeric_string: true},
              ok: {type: "boolean"}, note: {type: "string", max_length: 200},
            }},
            choice: {unlisted_properties: "remove", email_like: "remove", collection: "choices", properties: {
              kind: {type: "string", one_of: ["a", "b@c.de"], required: true}, level: {type: "number", one_of: [1, 2.5]},
            }},
            versions: {durability: "low", expires_after_s: 60, properties: {
              form: [{type: "string", schema_versions: {max: 1}}, {type: "number", schema_versions: {min: 2}}],
            }},
            server_fact: {source: "server", properties: {amount_cents: {type: "number"}}},
            heartbeat: {email_like: "allow", properties: {n: {type: "number"}, contact: {type: "string"}}},
          },
        }
        """
    }
}
