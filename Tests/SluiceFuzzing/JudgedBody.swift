// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceSystem

/// What judging a body came to, copied out of the judge's memory.
struct JudgedBody: Equatable {
    struct Event: Equatable {
        var outcome: EventVerdict.Outcome
        /// Nil for an accepted one.
        var code: EventCode?
        var isClamped: Bool
        var number: Int32
        var id: [UInt8]
        var detail: [UInt8]
        var removed: [[UInt8]]
        var identity: UInt64
    }

    var events: [Event] = []
    /// The lines without their line feeds.
    var records: [[UInt8]] = []
    var refusal: BatchRefusal?
    var answer: [UInt8] = []

    /// Records of the events in front of `index`.
    func records(before index: Int) -> Int { events[..<index].count { $0.outcome != .rejected } }
}

/// A judge with its buffers.
struct BodyJudge: ~Copyable {
    private var judge = EventJudge(identitySeed: 7)
    private var records = ByteBuffer()
    private var verdict = BatchVerdict()

    mutating func body(_ bytes: UnsafeRawBufferPointer, _ admission: Admission, _ contract: Contract) throws
        -> JudgedBody
    {
        records.removeAll()
        let input = ByteBuffer(copying: bytes)
        let refusal = refusal { (judge, records, verdict) throws(BatchRefusal) in
            try judge.judge(input.bytes, under: admission, by: contract, records: &records, verdict: &verdict)
        }
        return try judged(refusal)
    }

    mutating func line(_ bytes: UnsafeRawBufferPointer, _ admission: Admission, _ contract: Contract) throws
        -> JudgedBody
    {
        records.removeAll()
        let input = ByteBuffer(copying: bytes)
        return try judged(
            judge.judge(line: input.bytes, under: admission, by: contract, records: &records, verdict: &verdict)
        )
    }

    private mutating func refusal(
        _ body: (inout EventJudge, inout ByteBuffer, inout BatchVerdict) throws(BatchRefusal) -> Void
    ) -> BatchRefusal? {
        do throws(BatchRefusal) {
            try body(&judge, &records, &verdict)
            return nil
        } catch {
            return error
        }
    }

    private mutating func judged(_ refusal: BatchRefusal?) throws -> JudgedBody {
        var result = JudgedBody(refusal: refusal)
        var answer = ByteBuffer()
        if let refusal {
            try hold(records.isEmpty, "a refused body left records")
            refusal.appendAnswer(requestID: "r", to: &answer)
        } else {
            verdict.appendAnswer(requestID: "r", to: &answer)
        }
        result.answer = Array(answer.bytes)
        for event in verdict.events {
            let first = Int(event.firstRemoved)
            result.events.append(
                JudgedBody.Event(
                    outcome: event.outcome,
                    code: event.outcome == .accepted ? nil : event.code,
                    isClamped: event.isClamped && event.outcome != .rejected,
                    number: event.event,
                    id: Array(verdict.bytes(event.id)),
                    detail: Array(verdict.bytes(event.detail)),
                    removed: verdict.removedNames[first..<first + Int(event.removedCount)].map {
                        Array(verdict.bytes($0))
                    },
                    identity: event.identity
                )
            )
        }
        try hold(records.isEmpty || records.bytes.last == 0x0A, "the last record has no end")
        result.records = records.bytes.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast().map(
            Array.init
        )
        let taken = result.events.count { $0.outcome != .rejected }
        try hold(refusal == nil || result.events.isEmpty, "a refused body has verdicts")
        try hold(verdict.accepted + verdict.quarantined == taken, "the counts of what was taken")
        try hold(verdict.rejected == result.events.count - taken, "the count of what was rejected")
        try hold(result.records.count == taken, "\(taken) events taken and \(result.records.count) records written")
        return result
    }
}
