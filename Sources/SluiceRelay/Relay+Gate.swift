// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry

/// What the relays of a spool tell each other of the destination, through the file `gate`.
extension Relay {
    private static let gateInterval: Int64 = 1_000_000_000

    /// Takes over what others found: a closed road, an open one, a destination that takes records.
    func readGate(_ now: Int64) {
        guard now >= nextGateAt else { return }
        nextGateAt = now + Self.gateInterval
        let gate = gateFile.read(destination: destinationNumber)
        guard gate != lastGate else { return }
        lastGate = gate
        takeSuspects(of: gate)
        if gate.hasDelivered {
            destination.hasTakenRecords = true
            knownHasTakenRecords = true
        }
        let wall = clock.wallMilliseconds()
        let isClosed = gate.isClosed(atMilliseconds: wall) || gate.haltedReason != nil
        guard isClosed else {
            if isClosureAdopted {
                isClosureAdopted = false
                destination.reopen()
                onRoad?(nil)
            }
            return
        }
        let closure = Destination.Closure(
            kind: Self.kind(of: gate),
            reason: gate.haltedReason ?? gate.reason,
            until: now + gate.remainingMilliseconds(at: wall) * 1_000_000,
            attempt: max(1, gate.consecutiveFailures)
        )
        let before = destination.closure
        if destination.adopt(closure) {
            isClosureAdopted = true
            onRoad?(closure.reason)
            if before?.kind != closure.kind {
                logger.warning(
                    "Destination is closed, as another run found",
                    metadata: ["gate.reason": .string(closure.reason), "gate.kind": .string(closure.kind.rawValue)]
                )
            }
        }
    }

    private static func kind(of gate: Gate) -> Destination.Closure.Kind {
        guard gate.haltedReason != nil else { return .outage }
        return gate.reason == Destination.Closure.Kind.massRejection.rawValue ? .massRejection : .halt
    }

    /// Tells the log and the other relays that the road was closed or opened.
    ///
    /// What a probe found is newer than what others have found before.
    func roadChanged(from before: Destination.Closure?, isProbe: Bool, _ now: Int64) {
        isClosureAdopted = false
        onRoad?(destination.closure?.reason)
        if let closure = destination.closure {
            let seconds = Double(closure.until - now) / 1e9
            let metadata: Logger.Metadata = [
                "gate.reason": .string(closure.reason), "gate.kind": .string(closure.kind.rawValue),
                "gate.seconds": .string("\((seconds * 10).rounded() / 10)"),
            ]
            if closure.isHalt && before?.isHalt != true {
                logger.error("Delivery halted: the destination refuses everything", metadata: metadata)
            } else if before == nil {
                logger.warning("Destination closed for a while", metadata: metadata)
            } else {
                logger.debug("Destination still closed", metadata: metadata)
            }
        } else if before != nil {
            logger.notice("Destination open again")
        }
        writeGate(now, isProbe || destination.closure == nil ? .replaced : .closedAtLeast)
    }

    /// What becomes of the closure that the file tells of.
    enum GateChange {
        case untouched, replaced
        /// A later end that another relay was asked for stays.
        case closedAtLeast
    }

    func writeGate(_ now: Int64, _ change: GateChange) {
        let closure = destination.closure
        let wall = clock.wallMilliseconds()
        do throws(SpoolError) {
            let until = closure.map { wall + max(0, $0.until - now) / 1_000_000 } ?? 0
            lastGate = try gateFile.update(destination: destinationNumber) { gate in
                if destination.hasTakenRecords { gate.hasDelivered = true }
                if change == .untouched || (change == .closedAtLeast && gate.closedUntilMilliseconds > until) { return }
                gate.closedUntilMilliseconds = until
                gate.closedAtMilliseconds = until == 0 ? 0 : wall
                gate.consecutiveFailures = closure?.attempt ?? 0
                gate.haltedReason = closure.flatMap { $0.isHalt ? $0.reason : nil }
                gate.reason = closure.map { $0.kind == .massRejection ? $0.kind.rawValue : $0.reason } ?? ""
            }
            if lastGate?.closedUntilMilliseconds != until {
                // Another relay knows it closed for longer: to be taken over before anything is sent.
                lastGate = nil
                nextGateAt = .min
            }
            knownHasTakenRecords = destination.hasTakenRecords
            worked(.gate)
        } catch {
            failed(.gate, error)
        }
    }
}
