// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem

/// The writer, for what has to be made before it.
final class Writing: Sendable {
    private let made = Lock<SegmentWriter?>(nil)

    var writer: SegmentWriter? { made.withLock { $0 } }

    func set(_ writer: SegmentWriter) { made.withLock { $0 = writer } }
}
