// SPDX-License-Identifier: Apache-2.0

/// One event of a batch that is being sent.
package struct ClaimedEvent: Hashable, Sendable {
    package var eventID: String
    /// The stored bytes.
    package var envelope: [UInt8]
    /// How often it was tried, this time included.
    package var attempts: Int

    package init(eventID: String, envelope: [UInt8], attempts: Int) {
        self.eventID = eventID
        self.envelope = envelope
        self.attempts = attempts
    }
}

/// What delivery remembers between requests, also over restarts.
package struct DeliveryState: Hashable, Sendable {
    /// Requests in a row that brought nothing.
    package var failures = 0
    /// The most events of the next batch.
    package var batchLimit: Int

    package init(failures: Int = 0, batchLimit: Int) {
        self.failures = failures
        self.batchLimit = batchLimit
    }
}

/// What happens to a batch, and to delivery, after its answer; decided here, carried out in one transaction.
package struct DeliveryOutcome: Hashable, Sendable {
    /// An event that goes to quarantine.
    package struct Rejected: Hashable, Sendable {
        package var eventID: String
        package var code: String

        package init(eventID: String, code: String) {
            self.eventID = eventID
            self.code = code
        }
    }

    /// Who waits.
    package enum Scope: Hashable, Sendable {
        /// All delivery.
        case everything
        /// Events of the batch's user; others go on.
        case user
    }

    /// A time that delivery waits.
    package struct Pause: Hashable, Sendable {
        package var scope: Scope
        package var milliseconds: Int64

        package init(scope: Scope, milliseconds: Int64) {
            self.scope = scope
            self.milliseconds = milliseconds
        }
    }

    /// Leave the queue: the endpoint has them.
    package var accepted: [String] = []
    package var rejected: [Rejected] = []
    /// Whether the request was processed, so that its drop counts have arrived.
    package var isAcknowledged = false
    /// Stay in the queue.
    package var kept: [String] = []
    /// Why they stay.
    package var errorClass = ErrorClass.none
    /// Whether this was an attempt for those that stay.
    package var countsAttempt = true
    /// When those that stay are due again, from now.
    package var keptMilliseconds: Int64 = 0
    package var pause: Pause?
    package var state: DeliveryState
}

/// Why an event is still in the queue after it was sent; the column `last_error_class`.
package enum ErrorClass: String, Sendable {
    case none
    /// No answer, or not the endpoint's.
    case transport
    case serverError = "server_error"
    case throttled
    case unauthorized
    case misdirected
    case invalid
    case tooLarge = "too_large"
    /// The answer named other events and not this one.
    case unanswered
    case cancelled
}
