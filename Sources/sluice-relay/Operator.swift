// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSpool
import SluiceTelemetry

/// Who runs the program, for the line about what was done.
struct Operator {
    let number: Int
    let name: String

    static func current(_ environment: [String: String]) -> Operator {
        let number = getuid()
        var name = "\(number)"
        if let entry = getpwuid(number), let text = entry.pointee.pw_name { name = String(cString: text) }
        // Under sudo everybody is root; who it was can only be told by what sudo says.
        if let before = environment["SUDO_USER"], !before.isEmpty { name += " by sudo of \(before)" }
        return Operator(number: Int(number), name: name)
    }

    /// Notes in the ledger and in the log what was done; no event, no id of a person.
    func note(
        _ action: String,
        records: Int,
        selection: String,
        in ledger: Ledger,
        _ logger: Logger
    ) throws(SpoolError) {
        let audit = LedgerAudit(
            action: action,
            records: records,
            userNumber: number,
            userName: name,
            selection: selection
        )
        logger.notice(
            action == "erase" ? "Persons erased" : "Quarantine changed",
            metadata: [
                "quarantine.action": .string(action), "records": .integer(records), "user.id": .integer(number),
                "user.name": .string(name), "selection": .string(selection),
            ]
        )
        try ledger.append([.audit(audit)])
    }
}
