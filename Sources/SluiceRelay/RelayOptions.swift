// SPDX-License-Identifier: Apache-2.0
package import SluiceGraphJSON

/// Everything a relay can be told; the defaults are those of the configuration.
package struct RelayOptions: Sendable {
    /// How a relay ends: a sidecar runs until it is stopped, a drain until nothing is left to claim.
    package enum Mode: Sendable, Equatable {
        case run
        /// `deadlineSeconds` bounds the whole run; nil means as long as records are delivered.
        case drain(deadlineSeconds: Double?)
    }

    package var mode: Mode
    package var target: GraphJSONTarget
    package var bulk: BulkShape
    /// Width in seconds of the interval whose events may share a request; 1 is exact.
    package var timestampPrecision = 1
    package var maximumInFlight = 16
    package var maximumRequestBytes = 1 << 20
    /// Bytes of events that are read but not yet resolved.
    package var memoryBudgetBytes = 48 << 20
    /// How long a record may wait for others that share its request, in seconds.
    package var lingerSeconds = 1.0
    package var backoff = Backoff(minimumSeconds: 0.5, maximumSeconds: 60)
    package var maximumProbeSeconds = 30.0
    package var shutdownGraceSeconds = 8.0
    /// How long a run that is stopped goes on delivering what is in the spool, in seconds.
    package var stopDrainSeconds = 0.0
    /// Failures after which a chunk is halved while others get through.
    package var splitAfterFailures = 5
    /// Failures of a lone record, spread over `poisonAfterSeconds`, after which it goes to quarantine.
    package var poisonAfterFailures = 10
    package var poisonAfterSeconds = 3600.0
    /// Verdicts that the mass-rejection rule looks back on.
    package var massRejectionWindow = 200
    /// Records that each of the two generations of the duplicate window holds; 0 switches it off.
    package var duplicateWindow = 1_000_000
    /// How long a drain without a deadline goes on without a delivery, in seconds.
    package var drainPatienceSeconds = 60.0
    /// Most segments that are claimed at once.
    package var maximumClaims = 512
    /// Room that the quarantine may take on disk; above it bad records stay pending.
    package var quarantineMaximumBytes = 1 << 30

    package init(mode: Mode, target: GraphJSONTarget, bulk: BulkShape = .sharedTimestamp) {
        self.mode = mode
        self.target = target
        self.bulk = bulk
    }
}
