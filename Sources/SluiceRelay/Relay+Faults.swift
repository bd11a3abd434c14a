// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry

/// What a relay does without for a while when the spool does not take it.
enum SpoolFault: String {
    case progress = "Progress kept in memory"
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
        let level: Logger.Level = fault == .progress || fault == .gate ? .warning : .error
        logger.log(level: level, fault.rawValue, metadata: ["error": .string(error.description)])
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
