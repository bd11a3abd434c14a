// SPDX-License-Identifier: Apache-2.0

/// What became of a record.
package enum Outcome: UInt8, Hashable, Sendable, CaseIterable {
    case delivered = 1
    /// The same event was delivered from another place of the spool.
    case duplicate
    /// Past its time, as the contract permits.
    case expired
    /// Given up by an operator.
    case discarded
    /// Removed at a person's wish.
    case erased
    /// Kept in quarantine with a reason.
    case quarantined

    /// The word for it in metrics, ledger and status.
    package var name: String { "\(self)" }
}

/// Numbers of records by what became of them.
package struct OutcomeCounts: Hashable, Sendable {
    package var delivered = 0
    package var duplicate = 0
    package var expired = 0
    package var discarded = 0
    package var erased = 0
    /// Records with an entry in quarantine, without the damaged ones.
    package var quarantined = 0
    /// Records that could not be read; their bytes are in quarantine.
    package var damaged = 0

    package init() {}

    package subscript(outcome: Outcome) -> Int {
        get {
            switch outcome {
            case .delivered: delivered
            case .duplicate: duplicate
            case .expired: expired
            case .discarded: discarded
            case .erased: erased
            case .quarantined: quarantined
            }
        }
        set {
            switch outcome {
            case .delivered: delivered = newValue
            case .duplicate: duplicate = newValue
            case .expired: expired = newValue
            case .discarded: discarded = newValue
            case .erased: erased = newValue
            case .quarantined: quarantined = newValue
            }
        }
    }

    /// Each of them.
    var all: [Int] { [delivered, duplicate, expired, discarded, erased, quarantined, damaged] }

    /// All of them.
    package var total: Int { gone + quarantined + damaged }

    /// Those that are no longer in the spool.
    package var gone: Int { delivered + duplicate + expired + discarded + erased }

    package static func += (left: inout OutcomeCounts, right: OutcomeCounts) {
        left.delivered += right.delivered
        left.duplicate += right.duplicate
        left.expired += right.expired
        left.discarded += right.discarded
        left.erased += right.erased
        left.quarantined += right.quarantined
        left.damaged += right.damaged
    }
}
