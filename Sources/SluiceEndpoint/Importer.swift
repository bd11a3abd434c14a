// SPDX-License-Identifier: Apache-2.0
package import SluiceEvents
package import SluiceSpool
package import SluiceSystem

/// Puts lines of envelopes and bodies into the spool, through the validation that HTTP requests go through.
///
/// Reading and judging run on the caller's thread, compressing and syncing on the writer's. Memory is bounded by the
/// longest line that is taken and by the writer's buffer, however long the input is.
package struct Importer: ~Copyable {
    /// Records are handed to the writer in pieces of about this size.
    private static let pieceBytes = 256 << 10

    private let contract: Contract
    private let writer: SegmentWriter
    private let clock: SystemClock
    private var admission: Admission
    private var judge: EventJudge
    private var verdict = BatchVerdict()
    private var records = ByteBuffer(capacity: 2 * Importer.pieceBytes)
    private var recordCount = 0
    package private(set) var tally = ImportTally()

    /// Makes an importer; the admission's time of receipt is set anew as the import goes on.
    package init(
        _ contract: Contract,
        under admission: Admission,
        limits: EventLimits,
        into writer: SegmentWriter,
        clock: SystemClock = .system
    ) {
        self.contract = contract
        self.admission = admission
        self.writer = writer
        self.clock = clock
        judge = EventJudge(limits: limits)
    }

    /// Takes all lines of an input; blank lines are passed over.
    ///
    /// An input whose first line is no JSON by itself is taken as one body if that is what it is as a whole.
    ///
    /// - Parameters:
    ///   - file: the input.
    ///   - name: what to call the input in problems.
    ///   - onProgress: told the bytes of this input and the events of all inputs so far.
    /// - Throws: when the input cannot be read or the spool takes nothing more; some records may be durable then.
    package mutating func take(
        _ file: consuming File,
        named name: String,
        onProgress: (_ bytes: Int, _ events: Int) -> Void
    ) throws {
        var input = EventInput(file, maximumLineBytes: judge.limits.maximumBodyBytes)
        try input.read { document, bytesRead in
            if let refusal = document.refusal { return tally.add(refusal, file: name, line: document.line) }
            try take(document.bytes, name, document.line)
            onProgress(bytesRead, tally.total)
        }
        onProgress(input.bytesRead, tally.total)
    }

    /// Hands over what is left and waits until everything is durable.
    package mutating func finish() throws(SpoolError) {
        try handOver()
        try writer.flush()
    }

    private mutating func take(_ line: UnsafeRawBufferPointer, _ name: String, _ number: Int) throws(SpoolError) {
        if records.isEmpty { admission.receivedAt = clock.wallSeconds }
        let refusal = judge.judge(line: line, under: admission, by: contract, records: &records, verdict: &verdict)
        if let refusal {
            tally.add(refusal, file: name, line: number)
            return
        }
        tally.add(verdict, file: name, line: number)
        recordCount += verdict.accepted + verdict.quarantined
        if records.count >= Self.pieceBytes { try handOver() }
    }

    private mutating func handOver() throws(SpoolError) {
        guard recordCount > 0 else { return }
        try writer.append(records.bytes, count: recordCount, receivedAt: admission.receivedAt, waits: true)
        records.removeAll()
        recordCount = 0
    }
}
