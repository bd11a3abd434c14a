// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry

/// Taking segments, one's own and those of the dead, and giving them back.
extension Relay {
    private static let scanInterval: Int64 = 200_000_000
    private static let faultInterval: Int64 = 1_000_000_000
    private static let adoptionInterval: Int64 = 5_000_000_000

    /// Claims the oldest segment that is ready and starts to read it.
    ///
    /// - Returns: false when nothing is ready, or enough is claimed.
    func claimNext(_ now: Int64) throws(SpoolError) -> Bool {
        guard !isStopping, claimCount < options.maximumClaims, now >= nextScanAt else { return false }
        do throws(SpoolError) {
            isClaimingStuck = false
            guard let claim = try worker.claimNext() else {
                wasReadyEmpty = true
                nextScanAt = now + Self.scanInterval
                return false
            }
            wasReadyEmpty = false
            worked(.claiming)
            open(claim)
            return true
        } catch {
            // Without its lock it must stop; a drain that has nothing in hand ends and says why. Whatever else it is may
            // pass: a folder that can't grow on a full disk has room for another name when a segment is finished.
            guard error.code != .lockLost, !isDrain || claimCount > 0 else { throw error }
            failed(.claiming, error)
            isClaimingStuck = true
            nextScanAt = now + (error.code == .outOfSpace ? Self.scanInterval : Self.faultInterval)
            return false
        }
    }

    /// Moves segments of dead writers to `ready/`, and takes over the claims of dead relays.
    func adopt(_ now: Int64) {
        guard now >= nextAdoptionAt, !isStopping else { return }
        nextAdoptionAt = now + Self.adoptionInterval
        putBackMisplaced()
        do throws(SpoolError) {
            isRecoveryStuck = try takeOver()
            if !isRecoveryStuck { worked(.recovery) }
        } catch {
            isRecoveryStuck = true
            failed(.recovery, error)
        }
        if isRecoveryStuck { nextAdoptionAt = now + Self.faultInterval }
        tellIgnored()
        checkFolders()
    }

    /// - Returns: whether something is left that could not be taken over this time.
    private func takeOver() throws(SpoolError) -> Bool {
        let recovery = try IncomingRecovery(incoming: folder.incoming, ready: folder.ready, clock: clock)
        let recovered = recovery.recovered.count
        if recovered > 0 {
            logger.notice(
                "Segments of ended writers recovered",
                metadata: ["segments": .integer(recovered)]
            )
        }
        tell(recovery.problems, "Segment not recovered")
        let adopted = try worker.adoptOrphans()
        let problems = worker.takeProblems()
        tell(problems, "Claims of an ended relay not taken over")
        if adopted > 0 {
            logger.notice("Claims of ended relays taken over", metadata: ["segments": .integer(adopted)])
        }
        if recovered > 0 || adopted > 0 { nextScanAt = .min }
        // Names that are no segment's have no error; they are nobody's work.
        return !problems.isEmpty || recovery.problems.contains { $0.errnoCode != nil }
    }

    /// Tells of problems that come again each time, each once.
    private func tell(_ problems: [SpoolError], _ message: String) {
        for problem in problems where toldProblems.count < 1000 && toldProblems.insert(problem).inserted {
            logger.error(message, metadata: ["error": .string(problem.description)])
        }
    }

    /// Tries again to give segments back that could not be moved.
    private func putBackMisplaced() {
        let segments = misplaced
        misplaced.removeAll()
        for (segment, reason) in segments { setAside(segment, reason) }
    }

    /// Looks for the folders that are used only when there is something to write down.
    private func checkFolders() {
        for part in [SpoolFolder.Part.progress, .quarantine] {
            let path = folder.path(of: part)
            if (try? FileStatus(of: path))?.isFolder == true { continue }  // gone: told
            return failed(.folder, SpoolError(.io, path: path, detail: "no folder is there any more"))
        }
        worked(.folder)
    }

    /// Tells of names that are left alone, each once.
    func tellIgnored() {
        for file in worker.takeIgnored() {
            if file.reason == .unreadable { summary.isWorkLeft = true }
            logger.warning("File in the spool left alone", metadata: ["error": .string("\(file)")])
        }
    }

    /// Starts to read a claimed segment.
    private func open(_ claim: Claim) {
        let name = claim.segment
        do throws(SpoolError) {
            let standing = try ledger.standing(of: name)
            // Its relay ended before the removal, perhaps even before the line was durable, or a loss of power undid it.
            if case .finished = standing {
                try ledger.sync()
                return try worker.remove(name)
            }
            let progress = try Progress(of: name, in: folder)
            let slot = freeSlots.last ?? Int32(segments.count)
            let segment = ClaimedSegment(name: name, slot: slot, progress: progress)
            segment.erasureGeneration = erasures.generation
            let cursor = try SegmentCursor(segment, path: claim.path)
            try noteSealed(segment, standing, path: claim.path)
            if claim.isAdopted || progress.isPresent {
                _ = try quarantineWriter(of: segment, readsExisting: true)
            }
            // Nothing can fail from here on: a segment that is in the table is not left alone.
            if Int(slot) == segments.count {
                segments.append(segment)
            } else {
                freeSlots.removeLast()
                segments[Int(slot)] = segment
            }
            claimCount += 1
            reading = cursor
        } catch {
            leave(name, error)
        }
    }

    /// Writes the `sealed` line of a segment whose writer did not come to it, or whose line a loss of power took.
    private func noteSealed(
        _ segment: ClaimedSegment,
        _ standing: Ledger.Standing,
        path: String
    ) throws(SpoolError) {
        let summary = try SegmentSummary(of: path)
        segment.hasFooter = summary.hasFooter
        guard case .unknown = standing else { return }
        try ledger.append([
            .sealed(segment.name, records: summary.totals.records, isExact: summary.hasFooter)
        ])
    }

    /// Leaves a segment alone that can't be read, such as one of a later version, and says why.
    func leave(_ name: SegmentName, _ error: SpoolError) {
        logger.error(
            "Segment left alone",
            metadata: [
                "segment.name": .string(name.text), "error.code": .string(error.code.rawValue),
                "error": .string(error.description),
            ]
        )
        summary.isWorkLeft = true
        setAside(name, error.code == .unsupportedVersion ? .laterVersion : .unreadable)
    }

    private func setAside(_ name: SegmentName, _ reason: IgnoredFile.Reason) {
        do throws(SpoolError) {
            try worker.setAside(name, reason: reason)
        } catch {
            misplaced.append((name, reason))
            failed(.recovery, error)
        }
    }

    /// Forgets a segment's place in the table of claims.
    func drop(_ segment: ClaimedSegment) {
        segments[Int(segment.slot)] = nil
        freeSlots.append(segment.slot)
        claimCount -= 1
    }

    /// Ends the work on every segment that is not finished; closing the worker puts them back.
    func releaseAll() {
        for segment in segments.compactMap({ $0 }) {
            summary.isWorkLeft = true
            do throws(SpoolError) {
                try segment.quarantine?.finish()
            } catch {
                logger.warning("Quarantine not closed", metadata: ["error": .string(error.description)])
            }
        }
    }

    /// Whether there is work that this relay could not take: left behind by it, or claimed by others.
    func othersHoldWork() -> Bool {
        do throws(SpoolError) {
            return try worker.othersHoldClaims()
        } catch {
            logger.warning("Other claims can't be looked at", metadata: ["error": .string(error.description)])
            return true
        }
    }

    func closeWorker() {
        do throws(SpoolError) {
            try worker.close()
        } catch {
            logger.warning("Claims not put back", metadata: ["error": .string(error.description)])
        }
    }
}
