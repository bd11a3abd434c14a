// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSystem
import SluiceTestSupport
import SpoolModel

/// `spool-model`: runs the model of the spool for some seeds; exits 1 when something is lost, altered, repeated without
/// need, or wrong in the books.
enum Program {
    static let usage = """
        usage: spool-model --seeds FIRST-LAST [--epochs N] [--actions N] [--states N] [--damage] [--keep FOLDER]
          --epochs N     sequences for each seed, each begun where the one before was ended; default 3
          --actions N    actions in a sequence; default 6
          --states N     states of each sequence that are restarted from; default 60
          --damage       bytes are damaged now and then
          --keep FOLDER  states that fail are kept there, each with the calls that led to it
        """

    static func run() -> Never {
        // Sets and dictionaries in one order for each seed; read before the first of them is made.
        if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
            setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
            execv("/proc/self/exe", CommandLine.unsafeArgv)
        }
        do {
            exit(try run(Array(CommandLine.arguments.dropFirst())) ? 0 : 1)
        } catch {
            print("spool-model: \(error)")
            exit(error is UsageError ? 64 : 74)
        }
    }

    /// - Returns: whether nothing failed.
    private static func run(_ words: [String]) throws -> Bool {
        var arguments = Arguments(words)
        var plan = Campaign.Plan()
        guard let seeds = try seeds(&arguments) else { throw UsageError(usage) }
        plan.epochs = try arguments.integer("--epochs", in: 1...100) ?? plan.epochs
        plan.actions = try arguments.integer("--actions", in: 1...1000) ?? plan.actions
        plan.states = try arguments.integer("--states", in: 1...1_000_000) ?? plan.states
        plan.damages = try arguments.flag("--damage")
        plan.keptFailures = try arguments.option("--keep")
        _ = try arguments.remaining()

        // In memory where that is possible: what a sync is worth is the model's business.
        if getenv("TMPDIR") == nil && access("/dev/shm", W_OK) == 0 { setenv("TMPDIR", "/dev/shm", 1) }
        let folder = TemporaryFolder()
        var isGood = true
        for seed in seeds {
            let campaign = Campaign(recorder: .calls, folder: folder.path, plan: plan)
            let report = try campaign.run(seed: seed)
            print("seed \(seed): \(report.operations) calls, \(report.moments) moments, \(report.states) states")
            for failure in report.failures { print("FAILED \(failure)") }
            fflush(nil)
            isGood = isGood && report.failures.isEmpty
        }
        return isGood
    }

    private static func seeds(_ arguments: inout Arguments) throws -> ClosedRange<UInt64>? {
        guard let text = try arguments.option("--seeds") else { return nil }
        let parts = text.split(separator: "-").map { UInt64($0) }
        guard let first = parts.first ?? nil, let last = parts.last ?? nil, first <= last else { return nil }
        return first...last
    }
}
