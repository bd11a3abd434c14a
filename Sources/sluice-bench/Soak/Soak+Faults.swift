// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSoak
import SluiceSystem

/// Faults at random moments, each kind as often as its share says.
extension Soak {
    /// Steps of a clock in seconds.
    ///
    /// None goes more than a day ahead: the ledger's newest line would then forbid the right time.
    private static let clockSteps = [30, -30, 3600, -3600, 72_000, -172_800]

    func scheduleFault(_ now: Int64) {
        let kinds = SoakFaultKind.allCases.filter { options.faults.contains($0) && $0.share > 0 }
        guard !kinds.isEmpty else { return }
        let wait = random.between(0.2, 1.8) * options.intervalSeconds
        timeline.add(after: wait, from: now) { [unowned self] in
            if deck.isEmpty {
                deck = kinds.flatMap { Array(repeating: $0, count: $0.share) }.shuffled(using: &random)
            }
            let now = SystemClock.system.monotonicNanoseconds()
            if let kind = deck.popLast(), try begin(kind, now) { begun[kind, default: 0] += 1 }
            scheduleFault(now)
        }
    }

    /// How long a spell lasts.
    private func spell() -> Double { random.between(0.3, max(0.5, min(5, options.intervalSeconds * 1.5))) }

    /// - Returns: false when it cannot be now.
    private func begin(_ kind: SoakFaultKind, _ now: Int64) throws -> Bool {
        switch kind {
        case .kill: return strikeSomebody(SIGKILL, now)
        case .stop: return strikeSomebody(SIGTERM, now)
        case .reset:
            clients.setResets(thousandths: 20 + random.below(300))
            timeline.add(after: spell(), from: now) { [unowned self] in clients.setResets(thousandths: 0) }
            return true
        case .disk: return fillDisk(now)
        case .clock: return stepClock(now)
        case .damage: return damager.strike(&random)
        case .replay: return try beginReplay(now)
        case .poison: return false
        default: return beginUpstream(kind, now)
        }
    }

    private func strikeSomebody(_ signal: Int32, _ now: Int64) -> Bool {
        let program = programs.all[random.below(programs.all.count)]
        let pause = random.isTrue ? 0 : random.between(0, min(2, options.intervalSeconds))
        return program.strike(signal, restartAfter: pause, now)
    }

    private func fillDisk(_ now: Int64) -> Bool {
        guard let disk else { return false }
        disk.fill()
        timeline.add(after: spell(), from: now) { disk.free() }
        return true
    }

    private func beginUpstream(_ kind: SoakFaultKind, _ now: Int64) -> Bool {
        guard record.fault.kind == .none, let fault = kind.upstreamFault(&random) else { return false }
        record.fault = fault
        timeline.add(after: spell(), from: now) { [unowned self] in record.fault = UpstreamFault(.none) }
        return true
    }

    /// A program is started again with a clock of its own, which is stepped a little later, and once more; at last it
    /// gets the machine's clock back.
    private func stepClock(_ now: Int64) -> Bool {
        guard !isClockStepped, let name = programs.clocks.keys.sorted().randomElement(using: &random),
            let clock = programs.clocks[name], let program = programs.all.first(where: { $0.name == name })
        else { return false }
        programs.setClock(of: name, isItsOwn: true)
        guard program.strike(SIGTERM, restartAfter: 0, now) else {
            programs.setClock(of: name, isItsOwn: false)
            return false
        }
        isClockStepped = true
        let steps = [
            Self.clockSteps.randomElement(using: &random) ?? 0, Self.clockSteps.randomElement(using: &random) ?? 0,
        ]
        timeline.add(after: 1, from: now) { try clock.set(steps[0]) }
        timeline.add(after: 2.5, from: now) { try clock.set(steps[1]) }
        timeline.add(after: 2.5 + spell(), from: now) { [unowned self] in
            programs.setClock(of: name, isItsOwn: false)
            program.strike(
                random.isTrue ? SIGTERM : SIGKILL,
                restartAfter: 0,
                SystemClock.system.monotonicNanoseconds()
            )
            isClockStepped = false
        }
        return true
    }

    /// Tries from a third of the time on, until there is a segment to do it to.
    func scheduleSabotage(_ sabotage: Sabotage, _ now: Int64, after seconds: Double? = nil) {
        timeline.add(after: seconds ?? options.seconds / 3, from: now) { [unowned self] in
            let isDone = try sabotage.happen(in: spool)
            let now = SystemClock.system.monotonicNanoseconds()
            if !isDone { scheduleSabotage(sabotage, now, after: 0.001) }
        }
    }

    // MARK: Replay

    private func beginReplay(_ now: Int64) throws -> Bool {
        guard replay == nil else { return false }
        let process = try programs.tools.start(["quarantine", "replay", "--yes"], as: "replay")
        replay = process
        if options.faults.contains(.kill), random.below(3) == 0 {
            timeline.add(after: random.between(0.002, 0.1), from: now) { process.send(SIGKILL) }
        }
        return true
    }

    func tendReplay() {
        guard let ending = replay?.poll() else { return }
        replay = nil
        replayEnds[ending.code, default: 0] += 1
    }
}
