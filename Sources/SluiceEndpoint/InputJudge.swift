// SPDX-License-Identifier: Apache-2.0
package import SluiceEvents
package import SluiceSystem

/// Judges inputs of events as an endpoint would, and stores nothing.
package struct InputJudge: ~Copyable {
    private let contract: Contract
    private let admission: Admission
    private var judge: EventJudge
    private var records = ByteBuffer()
    private var verdict = BatchVerdict()
    package private(set) var tally = ImportTally()

    package init(_ contract: Contract, under admission: Admission, limits: EventLimits) {
        self.contract = contract
        self.admission = admission
        judge = EventJudge(limits: limits)
    }

    /// Judges all documents of an input.
    ///
    /// - Parameters:
    ///   - file: the input.
    ///   - name: what to call the input in problems.
    ///   - onRefusal: told each document that is refused as a whole, and its line.
    ///   - onVerdict: told what becomes of the events of each other document, and its line.
    /// - Throws: when the input cannot be read, and what the two throw.
    package mutating func take(
        _ file: consuming File,
        named name: String,
        onRefusal: (BatchRefusal, _ line: Int) throws -> Void = { _, _ in },
        onVerdict: (borrowing BatchVerdict, _ line: Int) throws -> Void = { _, _ in }
    ) throws {
        var input = EventInput(file, maximumLineBytes: judge.limits.maximumBodyBytes)
        try input.read { document, _ in
            records.removeAll()
            let refusal =
                document.refusal
                ?? judge.judge(
                    line: document.bytes,
                    under: admission,
                    by: contract,
                    records: &records,
                    verdict: &verdict
                )
            if let refusal {
                tally.add(refusal, file: name, line: document.line)
                try onRefusal(refusal, document.line)
            } else {
                tally.add(verdict, file: name, line: document.line)
                try onVerdict(verdict, document.line)
            }
        }
    }
}
