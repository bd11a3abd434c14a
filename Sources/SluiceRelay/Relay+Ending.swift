// SPDX-License-Identifier: Apache-2.0
internal import SluiceHTTP
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry

/// When a run is over, and leaving the spool in order.
extension Relay {
    /// Decides whether a run that was asked to stop goes on with what is in the spool, which may be thrown away after it.
    func considerEmptying(_ now: Int64) {
        guard control.isStopping, options.mode == .run, options.stopDrainSeconds > 0 else { return }
        let began = emptyingBeganAt ?? now
        if emptyingBeganAt == nil {
            logger.notice(
                "Relay empties the spool before it stops",
                metadata: ["limit.seconds": .string("\(options.stopDrainSeconds)")]
            )
            nextAdoptionAt = .min
            nextScanAt = .min
        }
        emptyingBeganAt = began
        // What is sealed moves to ready/: that must be found empty after nothing more was being written.
        let isWritten = isBeingWritten
        if isWritten || !sawNothingWritten { wasReadyEmpty = false }
        sawNothingWritten = !isWritten
        let end = began + Int64(options.stopDrainSeconds * 1e9)
        let isClosedTooLong = destination.inFlight == 0 && (destination.closure?.until ?? now) >= end
        isEmptying = now < end && !control.isGivingUp && !isClosedTooLong && !isEverythingDone
    }

    /// Whether an endpoint that ends too may still seal its last segment, or one that was killed left one behind.
    private var isBeingWritten: Bool {
        let names = try? FileSystem.names(in: folder.incoming)  // a folder that can't be read brings nothing more
        return names?.contains { $0.hasSuffix(".open") && !$0.hasPrefix(SegmentName.newPrefix) } ?? false
    }

    /// Whether all that this relay may claim is claimed and resolved.
    private var isEverythingDone: Bool {
        reading == nil && wasReadyEmpty && grouper.isEmpty && queue.isEmpty && destination.inFlight == 0
            && finishing.isEmpty
    }

    /// Whether nothing remains to be done, or the time to do it is over.
    func hasEnded(_ now: Int64) -> Bool {
        if isStopping {
            let since = stoppedAt ?? now
            stoppedAt = since
            if destination.inFlight == 0 { return true }
            return control.isGivingUp || Double(now - since) / 1e9 >= options.shutdownGraceSeconds
        }
        guard case .drain(let deadline) = options.mode else { return false }
        // A halt that another process left in the gate is tried once before it ends a drain.
        if destination.isHalted && destination.haltsConcluded > 0 && destination.inFlight == 0 { return true }
        if let deadline {
            if Double(now - startedAt) / 1e9 >= deadline { control.stop() }
        } else if let closure = destination.closure, destination.inFlight == 0,
            Double(closure.until - lastDeliveryAt) / 1e9 >= options.drainPatienceSeconds
        {
            return true
        }
        if deadline == nil && destination.inFlight == 0 && isStalled(now) { return true }
        // Records that are still held wait for a first delivery, which nothing here can bring any more.
        return isEverythingDone
    }

    /// Whether a drain has lost its patience: nothing came to an outcome for long, and nothing is on its way to one.
    private func isStalled(_ now: Int64) -> Bool {
        if summary.counts.total != lastTotal || (reading != nil && wantsRecords) {
            lastTotal = summary.counts.total
            lastOutcomeAt = now
        }
        let next = queue.readyCount == 0 ? max(now, queue.nextDue ?? now) : now
        guard Double(next - lastOutcomeAt) / 1e9 >= options.drainPatienceSeconds else { return false }
        // Chunks that fail while others get through are halved; a lone record's failures count on in the next run.
        return !queue.delayedContains { $0.count > 1 && destination.deliveries > $0.deliveriesAtFirstFailure }
    }

    /// Writes everything down, gives the claims back, and sums up.
    func end() {
        if destination.inFlight > 0 {
            logger.notice("Requests given up", metadata: ["requests": .integer(destination.inFlight)])
            client.cancelAll()
        }
        saveAll()
        syncProgress(.max)
        if let closure = destination.closure, closure.isHalt { summary.halt = closure.reason }
        if summary.halt == nil, !held.isEmpty, !destination.hasTakenRecords {
            let status = held[0].cause?.status.map { "HTTP \($0)" } ?? "no status"
            summary.halt = "the destination has not taken any record yet and refuses what it was sent (\(status))"
        }
        releaseAll()
        let isStuck = isClaimingStuck || isRecoveryStuck || !misplaced.isEmpty
        summary.isWorkLeft = summary.isWorkLeft || isStuck || othersHoldWork()
        // A run that found out nothing leaves what is known, perhaps of another destination.
        if destination.closure != nil || destination.hasTakenRecords != knownHasTakenRecords {
            writeGate(clock.monotonicNanoseconds(), destination.closure == nil ? .untouched : .closedAtLeast)
        }
        sweepQuarantine(.max)
        tellIgnored()
        closeWorker()
    }

    /// Writes down everything that is resolved.
    ///
    /// What the last run keeps in memory would be sent again by the next: on a full disk the ledger's reserve makes room
    /// for it, and segments that can be finished then give more of it back.
    private func saveAll() {
        nextQuarantineAt = .min
        nextFinishAt = .min
        saveProgress(clock.monotonicNanoseconds())
        finishSegments(clock.monotonicNanoseconds())
        guard segments.contains(where: { $0?.unsaved.isEmpty == false }) else { return }
        do throws(SpoolError) {
            try Ledger.giveBackReserve(of: folder)
        } catch {
            logger.warning("No room made for progress", metadata: ["error": .string(error.description)])
        }
        nextQuarantineAt = .min
        nextFinishAt = .min
        saveProgress(clock.monotonicNanoseconds())
        finishSegments(clock.monotonicNanoseconds())
    }
}
