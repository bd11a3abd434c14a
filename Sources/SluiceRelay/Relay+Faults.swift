// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry

/// What a relay does without for a while when the spool does not take it.
enum SpoolFault: String {
    case claiming = "Segments can't be claimed"
    case recovery = "What others left can't be taken over"
    case folding = "Ledger not folded"
    case progress = "Progress kept in memory"
    case progressSync = "Progress not synced: a loss of power may repeat events"
    case quarantine = "Bad records stay pending: no place in quarantine"
    case finish = "Segments not finished yet"
    case gate = "Gate not written"
    case reading = "Segments can't be read on"
    case record = "Records can't be read again"
    case folder = "A folder of the spool is gone"
}

/// Telling of faults, once for each spell.
extension Relay {
    func failed(_ fault: SpoolFault, _ error: SpoolError) {
        guard spells[fault, default: FaultSpell()].fails(at: clock.monotonicNanoseconds()) else { return }
        let isHarmless = [.progress, .progressSync, .gate, .folding].contains(fault)
        let metadata: Logger.Metadata = ["error": .string(error.description)]
        logger.log(level: isHarmless ? .warning : .error, fault.rawValue, metadata: metadata)
    }

    func worked(_ fault: SpoolFault) {
        guard !spells.isEmpty, let count = spells[fault]?.works(at: clock.monotonicNanoseconds()) else { return }
        spells[fault] = nil
        logger.notice(
            "Works again",
            metadata: ["fault": .string(fault.rawValue), "failures": .integer(count)]
        )
    }
}
