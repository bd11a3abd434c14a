// SPDX-License-Identifier: Apache-2.0
package import SluiceGraphJSON

/// What is known of the destination, and what follows from it: whether the road is open, how many requests may be
/// under way, and what becomes of a chunk after an answer.
///
/// A value without clock, network or file: times come in as monotonic nanoseconds, chance as a number, and the
/// relay does what comes back.
package struct Destination {
    /// Why and until when nothing but single probes is sent.
    package struct Closure: Equatable, Sendable {
        package enum Kind: String, Sendable {
            /// The destination can't be reached, is overloaded, or asked for a pause.
            case outage
            /// It refuses everything for a reason that no retry cures, such as a wrong key.
            case halt
            /// It refuses nearly every record, so that the fault can't be in the records.
            case massRejection = "mass_rejection"
        }

        package var kind: Kind
        package var reason: String
        /// Monotonic nanoseconds of the next probe.
        package var until: Int64
        /// Closures or failed probes in a row.
        package var attempt: Int
        package var isHalt: Bool { kind != .outage }
    }

    package enum Readiness: Equatable, Sendable {
        case open
        /// One request may go out to see whether the road is open again.
        case probe
        /// Nothing may be sent before this moment, in monotonic nanoseconds.
        case closed(until: Int64)
        /// As many requests as allowed are under way.
        case busy
    }

    /// What becomes of a chunk after an answer.
    package enum Settlement: Equatable, Sendable {
        case delivered
        /// Send it again, not before its `notBefore`.
        case again
        /// Send it again when the road is open; the failure was not its own.
        case back
        case split
        case quarantine(QuarantineCause)
        /// Keep the record unresolved until the destination is known to take others.
        case hold(QuarantineCause)
    }

    private var options: RelayOptions
    package private(set) var closure: Closure?
    /// Whether the destination has ever taken a record.
    package var hasTakenRecords: Bool
    /// Records that it has taken in this run.
    package private(set) var deliveries = 0
    /// Halts that answers in this run have brought or confirmed.
    package private(set) var haltsConcluded = 0
    package private(set) var inFlight = 0
    private var isProbing = false
    /// Requests that may be under way at once; grows by one a round trip, shrinks by half of what fails.
    package private(set) var limit: Double
    private var isSlowStart = true
    private var lastCutAt: Int64 = .min
    private var failuresSinceSuccess = 0
    private var failedFamilies: Set<Int> = []
    private var verdicts: VerdictWindow
    private var isMassRejectionWaived = false

    package init(options: RelayOptions, hasTakenRecords: Bool) {
        self.options = options
        self.hasTakenRecords = hasTakenRecords
        limit = Double(min(4, options.maximumInFlight))
        verdicts = VerdictWindow(size: options.massRejectionWindow)
    }

    /// Records may be given up as rejected: the destination takes others.
    package var mayQuarantine: Bool { hasTakenRecords && closure?.isHalt != true }

    package var isHalted: Bool { closure?.isHalt == true }

    package func readiness(at now: Int64) -> Readiness {
        if let closure {
            if isProbing { return .busy }
            return now < closure.until ? .closed(until: closure.until) : .probe
        }
        return inFlight < Int(limit) ? .open : .busy
    }

    /// Notes that a request goes out.
    ///
    /// - Returns: whether it is a probe, to be told to `settle`.
    package mutating func start() -> Bool {
        inFlight += 1
        if closure != nil { isProbing = true }
        return closure != nil
    }

    /// Notes that a request ended without an answer that counts: the relay itself gave it up.
    package mutating func abandon(isProbe: Bool) {
        inFlight -= 1
        if isProbe { isProbing = false }
    }

    /// Closes the road because another relay of this spool found it closed.
    ///
    /// - Returns: false when this relay knows it closed for at least as long.
    package mutating func adopt(_ closure: Closure) -> Bool {
        if let own = self.closure, own.until >= closure.until || isProbing { return false }
        self.closure = closure
        return true
    }

    /// Opens the road because another relay found it open.
    package mutating func reopen() { closure = nil }

    package mutating func apply(_ options: RelayOptions) {
        self.options = options
        limit = min(limit, Double(options.maximumInFlight))
    }

    /// Lets the next probe go out at once, as after a change of the configuration.
    package mutating func probeNow(at now: Int64) { closure?.until = now }

    /// Draws the consequences of an answer.
    ///
    /// - Parameters:
    ///   - chunk: what was sent; its counts of failures are kept up.
    ///   - verdict: what the answer means.
    ///   - startedAt: when the request went out.
    ///   - isProbe: what `start` said of it.
    ///   - now: when the answer came.
    ///   - random: a number from 0 up to 1, for the jitter.
    /// - Returns: what the relay does with the chunk.
    package mutating func settle(
        _ chunk: Chunk,
        _ verdict: Verdict,
        startedAt: Int64,
        isProbe: Bool,
        now: Int64,
        random: Double
    ) -> Settlement {
        inFlight -= 1
        if isProbe { isProbing = false }
        chunk.attempts += 1
        let answer = Answer(verdict: verdict, startedAt: startedAt, isProbe: isProbe, now: now, random: random)
        switch verdict.disposition {
        case .delivered: return succeed(chunk.count, answer)
        case .retry(let after, let closesGate):
            return fail(chunk, answer, after: after.map(nanoseconds), closesGate: closesGate)
        case .split:
            if chunk.count == 1 { return giveUp(.payloadTooLarge, answer) }
            judged(answer)
            return .split
        case .rejected:
            if chunk.count == 1 {
                chunk.rejectionsAlone += 1
                if chunk.rejectionsAlone > 1 { return giveUp(.upstreamRejected, answer) }
            }
            judged(answer)
            return chunk.count == 1 ? .again : .split
        case .halt:
            close(.halt, verdict.summary, until: now + probeDelay(answer), answer)
            return .back
        }
    }

    // MARK: Consequences

    private struct Answer {
        var verdict: Verdict
        var startedAt: Int64
        var isProbe: Bool
        var now: Int64
        var random: Double
    }

    private mutating func answered() {
        failuresSinceSuccess = 0
        failedFamilies.removeAll(keepingCapacity: true)
    }

    private mutating func succeed(_ count: Int, _ answer: Answer) -> Settlement {
        answered()
        hasTakenRecords = true
        deliveries += count
        verdicts.add(taken: true, times: count)
        // Requests that were under way when the road closed do not open it: a pause that was asked for is kept.
        if answer.isProbe, let closure {
            if closure.kind == .massRejection { isMassRejectionWaived = true }
            self.closure = nil
        }
        if isMassRejectionWaived && verdicts.isHealthy { isMassRejectionWaived = false }
        limit = min(Double(options.maximumInFlight), isSlowStart ? limit + 1 : limit + 1 / limit)
        return .delivered
    }

    private mutating func fail(_ chunk: Chunk, _ answer: Answer, after: Int64?, closesGate: Bool) -> Settlement {
        let now = answer.now
        // Without a connection, or asked to slow down, a chunk has done nothing wrong.
        let isOwnFault = answer.verdict.cause != .connect && answer.verdict.cause != .rateLimited
        // One that keeps failing says nothing of the destination's strength.
        if !isOwnFault || chunk.failures == 0 { slowDown(answer) }
        if isOwnFault {
            noteFailure(of: chunk, now: now)
            failuresSinceSuccess += 1
            failedFamilies.insert(chunk.family)
        }
        let isEverywhere = failuresSinceSuccess >= 10 && failedFamilies.count >= 3
        if answer.isProbe || closesGate || isEverywhere {
            let wait = options.backoff.wait(after: attempts(answer), random: answer.random)
            close(closure?.kind ?? .outage, answer.verdict.summary, until: now + (after ?? wait), answer)
            if !isOwnFault || isEverywhere { return .back }
        }
        let othersGetThrough = deliveries > chunk.deliveriesAtFirstFailure
        if chunk.count > 1 && chunk.failures >= options.splitAfterFailures {
            // With next to nothing else under way only a part of the chunk itself can show that the destination works.
            // In an outage that would make many small requests: so no more than one step in so many failures.
            let isAlone = failedFamilies.count < 3 && chunk.failures % options.splitAfterFailures == 0
            if othersGetThrough || isAlone { return .split }
        }
        if othersGetThrough {
            let seconds = Double(now - chunk.firstFailureAt) / 1e9
            if chunk.failuresAlone >= options.poisonAfterFailures && seconds >= options.poisonAfterSeconds && !isHalted
            {
                return .quarantine(QuarantineCause(.upstreamFailing, answer.verdict))
            }
        }
        chunk.notBefore = now + options.backoff.wait(after: chunk.failures, random: answer.random)
        return .again
    }

    /// Whether a chunk holds one record that fails alone while others get through.
    package func isSuspect(_ chunk: Chunk) -> Bool {
        chunk.count == 1 && chunk.failuresAlone > 0 && deliveries > chunk.deliveriesAtFirstFailure
    }

    private func noteFailure(of chunk: Chunk, now: Int64) {
        if chunk.failures == 0 {
            // A record that failed in earlier runs has its first failure there.
            if chunk.failuresAlone == 0 { chunk.firstFailureAt = now }
            chunk.deliveriesAtFirstFailure = deliveries
        }
        chunk.failures += 1
        if chunk.count == 1 { chunk.failuresAlone += 1 }
    }

    /// A lone record is refused for good: it may go to quarantine, unless the fault is not in the records.
    private mutating func giveUp(_ reason: QuarantineCause.Reason, _ answer: Answer) -> Settlement {
        let cause = QuarantineCause(reason, answer.verdict)
        verdicts.add(taken: false)
        if verdicts.isMassRejection && !isMassRejectionWaived {
            answered()
            let summary = "nearly every record is refused: \(answer.verdict.summary)"
            close(.massRejection, summary, until: answer.now + probeDelay(answer), answer)
            return .hold(cause)
        }
        judged(answer)
        return mayQuarantine ? .quarantine(cause) : .hold(cause)
    }

    /// After an answer that is no delivery, but shows that the destination judges: an outage is over; only a mass
    /// rejection goes on.
    private mutating func judged(_ answer: Answer) {
        answered()
        guard answer.isProbe, let closure else { return }
        if closure.kind == .massRejection {
            close(.massRejection, closure.reason, until: answer.now + probeDelay(answer), answer)
        } else {
            self.closure = nil
        }
    }

    private mutating func close(_ kind: Closure.Kind, _ reason: String, until: Int64, _ answer: Answer) {
        let attempt = attempts(answer)
        if kind != .outage { haltsConcluded += 1 }
        // Requests that were under way when the road closed add no attempt, but may ask for a longer pause.
        let later = answer.isProbe ? until : max(until, closure?.until ?? until)
        closure = Closure(kind: kind, reason: reason, until: later, attempt: attempt)
    }

    private func attempts(_ answer: Answer) -> Int {
        guard let closure else { return 1 }
        return answer.isProbe ? closure.attempt + 1 : closure.attempt
    }

    /// One second, doubling to the cap.
    private func probeDelay(_ answer: Answer) -> Int64 {
        Backoff(minimumSeconds: 1, maximumSeconds: options.maximumProbeSeconds).limit(after: attempts(answer))
    }

    private func nanoseconds(_ duration: Duration) -> Int64 {
        let parts = duration.components
        return parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000
    }

    /// Half of all when that was asked for, once for all requests that were under way; else half of the share that fails.
    ///
    /// A round trip in which everything fails so halves the limit too, and one failure in a hundred leaves room for some
    /// two hundred requests: halving for each such failure would leave twelve, however strong the destination is.
    private mutating func slowDown(_ answer: Answer) {
        isSlowStart = false
        guard answer.verdict.cause == .rateLimited else {
            limit = max(1, limit - 0.5)
            return
        }
        guard answer.startedAt > lastCutAt else { return }
        lastCutAt = answer.now
        limit = max(1, limit / 2)
    }
}
