// SPDX-License-Identifier: Apache-2.0

/// How a `SegmentWriter` groups, seals and refuses.
package struct SegmentWriterOptions: Sendable {
    /// A segment is sealed once its file has this many bytes.
    package var sealBytes = 8 << 20
    /// A segment with records is sealed after this time.
    package var sealAge = Duration.seconds(1)
    /// The time that `sealAge` grows to, so that an outage does not leave a million small files.
    package var longSealAge = Duration.seconds(60)
    /// `sealAge` begins to grow when more segments than this are ready, and has fully grown at twice as many.
    package var readySegmentsBeforeLongAge = 1_000
    /// Records that may wait in memory for the commit after the one that is running.
    package var maximumBufferedBytes = 16 << 20
    /// Nothing is taken while less than this is free on the filesystem.
    package var minimumFreeBytes = 0
    /// Nothing is taken while the spool, quarantine apart, takes more room on disk than this; nil for no limit.
    package var maximumSpoolBytes: Int?
    /// Room that must be there before a segment is begun.
    package var reservedBytes = 64 << 10
    /// How long nothing is taken after the disk was full, or after a second failure in a row.
    package var pauseAfterFailure = Duration.seconds(1)
    /// A commit that takes longer is answered as failed; its records may still be delivered.
    package var stallLimit = Duration.seconds(10)

    package init() {}
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
