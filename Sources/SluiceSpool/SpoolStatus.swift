// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// The books of a spool at one moment: where every record is that was ever accepted.
///
/// `accepted = delivered + duplicate + expired + discarded + erased + quarantined + pending`, at any moment, also after
/// kill -9, also while writers and relays are at work.
package struct SpoolStatus: Hashable, Sendable {
    /// Numbers by where segments are.
    package struct Places: Hashable, Sendable {
        /// Being written.
        package var open = 0
        package var ready = 0
        package var claimed = 0
        package var quarantine = 0

        package init() {}
    }

    /// Records that writers put in, replays left aside.
    package var accepted = 0
    /// Records that are no longer in the spool, by outcome; what is in quarantine stands in `quarantined`.
    package var counts = OutcomeCounts()
    /// Records in quarantine, damaged ones included.
    package var quarantined = 0
    /// Those of them that could not be read.
    package var damaged = 0
    /// Incomplete frames at the end of segments, which nobody was told were taken.
    package var tornTails = 0
    /// Records that are still to be sent, replays included.
    package var pending = 0
    package var segments = Places()
    /// Lengths of the files in bytes.
    package var bytes = Places()
    /// Seconds since the oldest segment with pending records was begun.
    package var oldestRecordAgeSeconds: Int?
    package var throughput = Throughput()
    package var quarantineReasons: [String: Int] = [:]
    package var gate: Gate?
    /// Unix milliseconds of this status.
    package var takenAtMilliseconds: Int64 = 0
    /// What is wrong with the books.
    package var problems: [String] = []
    /// What an operator may want to know besides.
    package var notes: [String] = []
    /// Names in the spool's folders that are left alone.
    package var ignoredFiles = 0

    package init() {}

    /// Whether nothing is missing.
    package var balanced: Bool { problems.isEmpty }

    /// Per second, over the last five minutes as far as the ledger goes back.
    package var rates: (accepted: Double, delivered: Double) {
        let total = throughput.total(seconds: Ledger.rateSeconds, now: Int(takenAtMilliseconds / 1000))
        let seconds = Double(Ledger.rateSeconds)
        return (Double(total.accepted) / seconds, Double(total.delivered) / seconds)
    }

    /// The right side of the equation.
    package var accountedFor: Int { counts.gone + quarantined + pending }

    /// Reads the books without touching anything.
    ///
    /// What a moving segment may have hidden is looked at again before it becomes a problem.
    ///
    /// * `attempts`: how often it is looked at.
    package static func read(
        _ spool: SpoolFolder,
        clock: SystemClock = .system,
        attempts: Int = 6
    ) throws(SpoolError) -> SpoolStatus {
        var reading = SpoolStatusReading(of: spool, clock: clock)
        return try reading.read(attempts: attempts)
    }
}
