// SPDX-License-Identifier: Apache-2.0

/// Runs random sequences of actions against the real code, ends them at every moment in every way, and judges what
/// the restart makes of it.
///
/// One seed is a row of epochs on one spool. Each begins in a state in which the one before was ended.
package struct Campaign {
    package struct Plan: Sendable {
        package var epochs = 3
        /// Actions in an epoch.
        package var actions = 6
        /// States of each epoch that are restarted from.
        package var states = 60
        package var damages = false
        /// Where the states of failures are kept; nil is nowhere.
        package var keptFailures: String?

        package init() {}
    }

    package struct Report: Sendable {
        package var operations = 0
        /// Moments at which the machine might have ended.
        package var moments = 0
        package var states = 0
        package var failures: [String] = []
    }

    /// How a machine ends.
    enum Crash: Hashable, CustomStringConvertible {
        /// All processes are killed.
        case kill
        /// The same, in the middle of the next write.
        case killInWrite
        case powerLoss(Disk.Loss)

        var description: String {
            switch self {
            case .kill: "kill"
            case .killInWrite: "kill in a write"
            case .powerLoss(let loss): "loss of power (\(loss))"
            }
        }
    }

    private let recorder: CallRecorder
    /// An empty folder for spools.
    private let folder: String
    private let plan: Plan

    package init(recorder: CallRecorder, folder: String, plan: Plan) {
        self.recorder = recorder
        self.folder = folder
        self.plan = plan
    }

    package func run(seed: UInt64) throws -> Report {
        recorder.seed(seed | 1 << 63)
        defer { recorder.seed(0) }
        var run = try CampaignRun(recorder: recorder, folder: folder, plan: plan, seed: seed)
        defer { run.close() }
        return try run.report()
    }
}
