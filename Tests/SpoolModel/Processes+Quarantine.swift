// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceTestSupport

extension Processes {
    /// Takes records out of quarantine, as `sluice-relay quarantine` does: each of them once in `share` times.
    func edit(_ kind: QuarantineMove.Kind, share: Int) throws {
        let editor = QuarantineEditor(in: spool, ledger: try Ledger(in: spool, clock: clock.clock), clock: clock.clock)
        _ = try editor.run(kind) { (item, _) throws(SpoolError) in
            guard random.oneIn(share) else { return random.oneIn(2) ? .leave : .failsAgain }
            if kind != .replay, let line = ModelRecord.line(in: item), let serial = ModelRecord.serial(in: line) {
                mark(.mayVanish([serial]))
            }
            return .take
        }
    }

    /// Forgets the persons of some events, as `sluice-relay erase` does.
    func erasePersons() throws {
        let events = (0...random.below(2)).compactMap { _ in records[random.below(max(1, records.count))]?.event }
        guard !events.isEmpty else { return }
        for event in events { records.erase(event) }
        mark(.mayBeErased(events))
        let ledger = try Ledger(in: spool, clock: clock.clock)
        let eraser = Eraser(with: QuarantineEditor(in: spool, ledger: ledger, clock: clock.clock))
        _ = try eraser.run(events.map { Person(.anonymous, ModelRecord.person(of: $0)) }, isDryRun: false)
        mark(.erased(events))
    }

    /// Folds the ledger, however small it is.
    func foldLedger() throws {
        _ = try Ledger(in: spool, clock: clock.clock, foldingBytes: 0).foldIfLarge()
    }

    /// Reads the books; looking at a spool must change nothing.
    func status() throws -> SpoolStatus { try SpoolStatus.read(spool, clock: clock.clock, attempts: 1) }
}
