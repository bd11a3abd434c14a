// SPDX-License-Identifier: Apache-2.0
internal import SluiceRelay
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTestSupport

/// What a restart makes of the state that a crash left.
///
/// A writer takes one more record, a relay drains everything, and the books and the quarantine are read; then a second
/// relay must find nothing to do.
struct CrashCheck {
    let records: ModelRecords
    let upstream: ModelUpstream
    let clock: ModelClock
    let marks: Marks

    /// Runs the recovery in `root` and judges it.
    ///
    /// `history` is what had happened before, the crash included.
    ///
    /// - Returns: what is wrong, in words.
    func faults(in root: String, after history: History, random: SeededGenerator) -> [String] {
        marks.removeAll()
        var history = history
        do {
            return try judge(root, &history, random)
        } catch {
            return history.faults + ["recovery failed: \(error)"]
        }
    }

    private func judge(_ root: String, _ history: inout History, _ random: SeededGenerator) throws -> [String] {
        var random = random
        var faults: [String] = []
        func expect(_ condition: Bool, _ text: @autoclosure () -> String) { if !condition { faults.append(text()) } }

        if let spool = try? SpoolFolder.open(root, create: false, role: .reader), !history.booksMayBeWrong {
            let status = try SpoolStatus.read(spool, clock: clock.clock, attempts: 1)
            expect(status.balanced, "before recovery the books do not balance: \(status.problems)")
        }
        let processes = try Processes(
            root: root,
            records: records,
            clock: clock,
            upstream: upstream,
            random: random,
            mark: { [marks] in marks.add($0) }
        )
        defer { processes.close() }
        try processes.append([records.make(.plain, random: &random)])
        processes.stopWriter()
        var policy = ModelUpstream.Policy()
        policy.refuses = random.oneIn(2)
        clock.setTick(milliseconds: 1)
        let first = try processes.drain(policy)
        for mark in marks.all { history.take(mark) }
        expect(!first.isWorkLeft && first.halt == nil, "a drain leaves work: \(first), \(processes.complaints)")

        let spool = processes.spool
        let quarantine = try quarantined(in: spool, &faults)
        judgeRecords(history, quarantine, processes, &faults)
        let status = try processes.status()
        expect(status.balanced || history.booksMayBeWrong, "the books do not balance: \(status.problems)")
        let isEmpty = status.pending == 0 || history.booksMayBeWrong
        expect(isEmpty, "\(status.pending) records are pending after a drain, \(processes.complaints)")
        for part in [SpoolFolder.Part.incoming, .ready, .claimed, .progress] {
            let all = try FileSystem.names(in: spool.path(of: part))
            let names = all.filter { !$0.hasPrefix(SegmentName.newPrefix) }
            expect(names.isEmpty, "\(part) is not empty after a drain: \(names), \(processes.complaints)")
        }

        let before = try DiskSnapshot(of: root)
        let requests = marks.all.count
        let second = try processes.drain(policy)
        let isIdle = second.requests == 0 && second.segments == 0 && !second.isWorkLeft
        expect(isIdle, "a second drain found work: \(second)")
        expect(
            !marks.all[requests...].contains { if case .arrived = $0 { true } else { false } },
            "a second drain sent something"
        )
        expect(try settled(before) == settled(DiskSnapshot(of: root)), "a second drain changed the spool")
        return history.faults + faults
    }

    /// What a restart without work leaves alone.
    private func settled(_ snapshot: DiskSnapshot) -> [String: [UInt8]] {
        snapshot.files.filter { $0.key == "ledger" || $0.key.hasPrefix("quarantine/") }
    }

    /// Which records are in quarantine, each whole and as it was spooled.
    private func quarantined(in spool: SpoolFolder, _ faults: inout [String]) throws -> Set<Int> {
        var found: Set<Int> = []
        let folder = QuarantineFolder(of: spool)
        for file in try folder.files(try Ledger.book(of: spool)) {
            try folder.read(file) { (item) throws(SpoolError) in
                guard let line = ModelRecord.line(in: item) else { return }
                guard let serial = ModelRecord.serial(in: line), let record = records[serial] else {
                    faults.append("a record that nobody wrote is in quarantine: \(line)")
                    return
                }
                if line != record.line { faults.append("record \(serial) was altered in quarantine: \(line)") }
                if record.kind == .plain || record.kind == .twin {
                    faults.append("record \(serial) is in quarantine, and nothing is wrong with it: \(item.reason)")
                }
                found.insert(serial)
            }
        }
        return found
    }

    private func judgeRecords(
        _ history: History,
        _ quarantine: Set<Int>,
        _ processes: Processes,
        _ faults: inout [String]
    ) {
        for serial in history.acknowledged.sorted() {
            if history.hasArrived(serial) || quarantine.contains(serial) || history.mayBeGone(serial) { continue }
            let kind = records[serial].map { "\($0.kind)" } ?? "unknown"
            faults.append("record \(serial) (\(kind)) was acknowledged and is lost, \(processes.complaints)")
        }
    }
}
