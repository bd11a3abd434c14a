// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSoak
import SluiceSpool
import SluiceSystem

/// After the faults: quiet, an empty spool, and the count.
extension Soak {
    private static let discardReason = "payload_too_large"

    /// Ends all faults and lets the clients have their last acknowledgements.
    func calm() throws {
        timeline.removeAll()
        record.fault = UpstreamFault(.none)
        record.isLenient = true
        disk?.free()
        clients.setResets(thousandths: 0)
        replay?.wait()
        tendReplay()
        // A clock is right again with the next start only.
        programs.resetClocks()
        for program in [programs.endpoint, programs.stub] {
            try program.finish()
            try program.start()
        }
        clients.finish(within: 60)
        for program in [programs.endpoint] + programs.relays { try program.finish() }
    }

    /// Delivers what is left.
    ///
    /// - Returns: what went wrong.
    func drain(until mustEnd: () -> Bool) throws -> [String] {
        var codes: [Int32] = []
        let limit = SystemClock.system.monotonicNanoseconds() + 900_000_000_000
        while SystemClock.system.monotonicNanoseconds() < limit && !mustEnd() {
            let code = try programs.tools.drain()
            codes.append(code)
            // 65 tells of the damage.
            if code == 0 || code == 65 { return [] }
            guard [69, 75].contains(code) else { break }
            usleep(200_000)
        }
        return [
            "the last drains ended with \(codes.suffix(5).map { "\($0)" }.joined(separator: ", ")), not with 0 or 65"
        ]
    }

    func count(_ watch: SoakWatch, _ drainProblems: [String]) throws -> SoakResult {
        let before = try programs.tools.books()
        var checker = try SoakChecker(plan: plan, spool: spool, marksPath: "\(folder)/marks")
        try checker.readQuarantine(discardReason: Self.discardReason)
        if before.pending > 0 { try checker.readPending() }
        checker.compareDamage(damager.strikes)
        var problems = drainProblems + checker.problems
        problems += try discard(checker.recordsToDiscard, before)
        let books = try programs.tools.books()
        let verified = try programs.tools.run(["verify"], as: "verify")
        if verified != 0 && verified != 65 { problems.append("sluice-relay verify ended with \(verified)") }
        let tally = checker.tally(clients, record)
        problems += self.problems(tally, books) + self.problems(watch) + programProblems()
        return SoakResult(
            seed: options.seed,
            seconds: watch.seconds,
            askedRate: options.eventsPerSecond,
            disk: disk == nil ? "the disk of \(folder)" : "a filesystem in memory of \(options.diskMegabytes) MiB",
            tally: tally,
            books: books,
            arrivals: record[.arrivals],
            reordered: record[.reordered],
            altered: record[.altered],
            programs: programs.all.map { ($0.name, $0.starts, $0.kills, $0.stops, $0.ownEnds) },
            faults: faultRows(),
            samples: watch.samples,
            booksRead: watch.probe.count,
            problems: problems,
            notes: notes + moreNotes(watch)
        )
    }

    /// Discards some of quarantine, as an operator would.
    private func discard(_ records: Int, _ before: SpoolBooks) throws -> [String] {
        guard records > 0 else { return [] }
        let code = try programs.tools.run(
            ["quarantine", "discard", "--reason", Self.discardReason, "--yes"],
            as: "discard"
        )
        let after = try programs.tools.books()
        let gone = after.discarded - before.discarded
        guard code != 0 && code != 65 || gone != records else { return [] }
        return ["quarantine discard ended with \(code) and took \(gone) of \(records) records"]
    }

    /// Copies the spool out of the filesystem in memory, which goes with the process.
    func keepSpool() throws {
        guard disk != nil else { return }
        let copy = try ChildProcess("/bin/cp", ["-a", spool.root, "\(folder)/spool"], environment: [])
        copy.wait()
    }

    // MARK: What must be

    private func problems(_ tally: SoakChecker.Tally, _ books: SpoolBooks) -> [String] {
        var problems: [String] = []
        if tally.lost > 0 { problems.append("\(tally.lost) acknowledged events are lost") }
        if record[.altered] > 0 {
            problems.append("\(record[.altered]) events did not arrive as they were posted")
            for example in record.examples.prefix(10) {
                let fault = example.fault.map { "\($0)" } ?? ""
                problems.append("  \(fault): \(example.number.map { plan.id($0) } ?? "no event of this soak")")
            }
        }
        if !books.isBalanced { problems.append("the ledger is not balanced: \(books.line)") }
        if tally.pending > 0 || books.pending > 0 { problems.append("\(books.pending) records are still pending") }
        if books.delivered > record[.arrivals] {
            problems.append("the books say delivered \(books.delivered), and \(record[.arrivals]) arrived")
        }
        if books.accepted + tally.damaged < tally.acknowledged {
            problems.append("\(tally.acknowledged) events were acknowledged, the books know of \(books.accepted)")
        }
        if tally.expired > books.expired {
            problems.append(
                "\(tally.expired) events of low durability are nowhere, the books say expired \(books.expired)"
            )
        }
        if clients.wrongAnswerCount > 0 {
            problems.append("\(clients.wrongAnswerCount) answers did not name the events that were posted")
            problems += clients.wrongAnswers.map { "  \($0)" }
        }
        for (status, count) in clients.answersByStatus where ![200, 429, 503].contains(status) {
            problems.append("the endpoint answered \(status) \(count) times")
        }
        if clients.openBatches > 0 { problems.append("\(clients.openBatches) batches were never acknowledged") }
        return problems
    }

    private func problems(_ watch: SoakWatch) -> [String] {
        var problems: [String] = []
        let probe = watch.probe
        if probe.unbalanced > 0 { problems.append("the books were not balanced \(probe.unbalanced) times") }
        if probe.behind > 0 { problems.append("the books were behind what was acknowledged \(probe.behind) times") }
        for (code, count) in probe.failures.sorted(by: { $0.key < $1.key }) {
            problems.append("sluice-relay status ended with \(code) and without an answer \(count) times")
        }
        return problems + probe.examples.map { "  \($0)" }
    }

    /// A program may fail to start or to go on when the disk is full or its lock is gone; it never crashes.
    private func programProblems() -> [String] {
        var problems: [String] = []
        for program in programs.all {
            if program.hangs > 0 { problems.append("\(program.name) did not end on SIGTERM \(program.hangs) times") }
            for (code, count) in program.ownEnds.sorted(by: { $0.key < $1.key })
            where code > 128 || [64, 70, 78].contains(code) {
                problems.append("\(program.name) ended by itself with \(code) \(count) times")
            }
        }
        for (code, count) in replayEnds.sorted(by: { $0.key < $1.key })
        where code > 128 && code != 137 || [64, 70, 78].contains(code) {
            problems.append("quarantine replay ended with \(code) \(count) times")
        }
        return problems
    }

    // MARK: What may be of interest

    private func faultRows() -> [(name: String, count: Int, detail: String)] {
        SoakFaultKind.allCases.filter { options.faults.contains($0) }.map { kind in
            (kind.rawValue, begun[kind, default: 0], detail(of: kind))
        }
    }

    private func detail(of kind: SoakFaultKind) -> String {
        switch kind {
        case .kill: "\(programs.all.reduce(0) { $0 + $1.kills }) times SIGKILL"
        case .stop: "\(programs.all.reduce(0) { $0 + $1.stops }) times SIGTERM"
        case .reset: "\(clients.resets) connections"
        case .disk, .clock: ""
        case .damage: "\(damager.strikes.reduce(0) { $0 + $1.numbers.count }) events stood there"
        case .replay:
            replayEnds.sorted { $0.key < $1.key }.map { "exit \($0.key): \($0.value)" }.joined(separator: ", ")
        case .poison: "\(record[.answered400]) times 400"
        case .busy429: "\(record[.answered429]) answers"
        case .failing500: "\(record[.answered500]) answers"
        case .unavailable503: "\(record[.answered503]) answers"
        case .tooLarge413: "\(record[.answered413]) answers"
        case .unauthorized401: "\(record[.answered401]) answers"
        case .slow: "\(record[.slow]) answers"
        case .cut: "\(record[.cut]) requests"
        case .drop: "\(record[.reset]) requests"
        }
    }

    private func moreNotes(_ watch: SoakWatch) -> [String] {
        let answers = clients.answersByStatus.sorted { $0.key < $1.key }.map { "\($0.value) times \($0.key)" }
        return [
            "clients: \(clients.requests) requests over \(plan.clients) connections, "
                + "\(clients.brokenConnections) broken, answers \(answers.joined(separator: ", "))"
        ]
    }
}
