// SPDX-License-Identifier: Apache-2.0

/// What a reason in quarantine means, and what an operator does about it.
struct QuarantineAdvice {
    /// How the record came here.
    let why: String
    /// What to do next.
    let next: String

    private init(_ why: String, next: String) {
        self.why = why
        self.next = next
    }

    static func about(_ reason: String, event: String) -> QuarantineAdvice {
        let chosen = event.isEmpty ? "--reason \(reason)" : "--reason \(reason) --event \(event)"
        let replay = "sluice-relay quarantine replay \(chosen)"
        let discard = "sluice-relay quarantine discard \(chosen)"
        switch reason {
        case "unsupported_event":
            return QuarantineAdvice(
                "the contract did not list this event when it came in, and says on_unknown: \"quarantine\"",
                next: "list the event in the contract, see that nothing else breaks (sluice-endpoint check "
                    + "--against OLD), then: \(replay) --contract FILE --dry-run"
            )
        case "unsupported_schema_version":
            return QuarantineAdvice(
                "its schema_version was outside the contract's window when it came in",
                next: "widen schema_versions in the contract, with rules for the new version, then: "
                    + "\(replay) --contract FILE --dry-run"
            )
        case "occurred_at_too_old", "occurred_at_in_future":
            return QuarantineAdvice(
                "its occurred_at was outside what the clock policy takes (clock.max_age_s, clock.max_future_s)",
                next: "if the time is right, as after weeks without a network: "
                    + "\(replay) --contract FILE --accept-clock --dry-run; if it is not: \(discard)"
            )
        case "upstream_rejected":
            return QuarantineAdvice(
                "the destination took its neighbours and refused it twice when it stood alone; detail is its answer",
                next: "mend what the answer names, in the contract or at GraphJSON, then: "
                    + "\(replay) --contract FILE --dry-run"
            )
        case "upstream_failing":
            return QuarantineAdvice(
                "sending it alone failed ten times over an hour, while others went through; detail is the last failure",
                next: "when the destination is mended: \(replay) --dry-run"
            )
        case "payload_too_large":
            return QuarantineAdvice(
                "the destination says that even this record alone is too large",
                next: "take its large property out of the contract, which then removes it, and: "
                    + "\(replay) --contract FILE --dry-run"
            )
        case "invalid_record":
            return QuarantineAdvice(
                "the line in the segment is no record that can be sent; detail says what is wrong with it",
                next: "mend it by hand and import it anew (sluice-endpoint import), then: \(discard)"
            )
        case "damaged":
            return QuarantineAdvice(
                "these bytes of a segment do not verify: the disk or the file system changed them",
                next: "look after the disk; the bytes are kept in quarantine/<segment>.damaged; when they are of no "
                    + "use: \(discard)"
            )
        case "torn_tail":
            return QuarantineAdvice(
                "the segment ends inside a frame, as after a loss of power; nobody was told that it was taken",
                next: "nothing is missing; to clean up: \(discard)"
            )
        default:
            return QuarantineAdvice(
                "a reason that this version does not know; detail may tell more",
                next: "\(replay) --contract FILE --dry-run"
            )
        }
    }
}
