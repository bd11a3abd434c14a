// SPDX-License-Identifier: Apache-2.0
internal import SluiceGraphJSON
internal import SluiceHTTP
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry

/// Requests out, answers in.
extension Relay {
    func sendReady(_ now: Int64) throws(SpoolError) {
        var isListFresh = false
        while !isStopping {
            switch destination.readiness(at: now) {
            case .open: break
            case .probe:
                guard queue.readyCount > 0 || !held.isEmpty else { return }
                prepareProbe()
            case .closed, .busy: return
            }
            guard let chunk = queue.popFront() else { return }
            if !isListFresh {
                do throws(SpoolError) {
                    try refreshErasures()
                } catch {
                    queue.pushFront(chunk)
                    throw error
                }
                isListFresh = true
            }
            eraseSome(of: chunk)
            expireSome(of: chunk)
            if chunk.count == 0 {
                discard(chunk)
                continue
            }
            send(chunk, now)
        }
    }

    private func send(_ chunk: Chunk, _ now: Int64) {
        var body = ByteBuffer(capacity: chunk.texts.count + chunk.count * 16 + 512)
        encode(chunk, into: &body)
        let isProbe = destination.start()
        let flight = Flight(chunk: chunk, startedAt: now, isProbe: isProbe)
        let tag: Int
        if let free = freeFlights.popLast() {
            tag = free
            flights[tag] = flight
        } else {
            tag = flights.count
            flights.append(flight)
        }
        client.send(.post(url, headers: headers, body: RequestBody(body)), tag: tag)
    }

    private func encode(_ chunk: Chunk, into body: inout ByteBuffer) {
        eventTexts.removeAll(keepingCapacity: true)
        eventTimestamps.removeAll(keepingCapacity: true)
        for index in 0..<chunk.count {
            eventTexts.append(chunk.text(index))
            eventTimestamps.append(chunk.records[index].timestamp)
        }
        collections[Int(chunk.key.collection)].withUnsafeBytes { collection in
            eventTimestamps.withUnsafeBufferPointer { timestamps in
                eventTexts.withUnsafeBufferPointer { events in
                    encoder.encode(collection: collection, timestamps: timestamps, events: events, into: &body)
                }
            }
        }
    }

    /// Reads the API key again, so that a new one is used without a restart.
    func readKey() {
        guard let key = apiKey(), key != classifier.apiKey else { return }
        classifier.apiKey = key
        encoder = RequestEncoder(shape: options.bulk, apiKey: key)
    }

    /// Puts a chunk to the front that tells most of the destination's state: one that has not failed before, and whose
    /// first record is of another segment or event than the last probe's; a single record when records are what is
    /// refused.
    private func prepareProbe() {
        readKey()
        guard let closure = destination.closure else { return }
        if closure.isHalt, queue.readyCount == 0, let chunk = takeHeld() { queue.pushFront(chunk) }
        guard queue.readyCount > 0 else { return }
        if let position = tellingPosition() { queue.bringToFront(position) }
        if let record = queue.ready(at: 0)?.records.first { lastProbe = (record.slot, record.eventHash) }
        guard closure.kind == .massRejection, let chunk = queue.ready(at: 0), chunk.count > 1 else { return }
        _ = queue.popFront()
        let (one, rest) = split(chunk, at: 1)
        queue.pushBack(rest)
        queue.pushFront(one)
    }

    /// Where a chunk stands among the ready ones that is a good probe; nil when the first is as good as any.
    ///
    /// What fails by itself says nothing of the road: one such record must not keep it closed.
    private func tellingPosition() -> Int? {
        let hasFresh = queue.freshCount > 0
        for _ in 0..<16 {
            let position = Int.random(in: 0..<queue.readyCount, using: &random)
            guard let chunk = queue.ready(at: position), let record = chunk.records.first else { continue }
            if hasFresh && !chunk.isFresh { continue }
            if record.slot != lastProbe.slot || record.eventHash != lastProbe.event { return position }
        }
        // Few have not failed, or all are alike.
        return hasFresh ? (0..<queue.readyCount).first { queue.ready(at: $0)?.isFresh == true } : nil
    }

    /// Takes a held record, not always the same, for another try.
    private func takeHeld() -> Chunk? {
        guard let position = held.indices.randomElement(using: &random) else { return nil }
        let chunk = held.remove(at: position)
        chunk.rejectionsAlone = 1
        return chunk
    }

    func takeAnswers(_ now: Int64) {
        completions.removeAll(keepingCapacity: true)
        client.takeCompletions(into: &completions)
        for completion in completions {
            guard let flight = flights[completion.tag] else { continue }
            flights[completion.tag] = nil
            freeFlights.append(completion.tag)
            metrics.requestDuration.record(nanoseconds: completion.nanoseconds)
            summary.requests += 1
            settle(flight, classifier.classify(completion), now)
        }
    }

    private func settle(_ flight: Flight, _ verdict: Verdict, _ now: Int64) {
        let chunk = flight.chunk
        metrics.requests[verdict.cause]?.increment()
        if verdict.cause == .cancelled {
            destination.abandon(isProbe: flight.isProbe)
            queue.pushFront(chunk)
            return
        }
        let before = destination.closure
        let settlement = destination.settle(
            chunk,
            verdict,
            startedAt: flight.startedAt,
            isProbe: flight.isProbe,
            now: now,
            random: randomUnit()
        )
        switch settlement {
        case .delivered: delivered(chunk, now)
        case .again where chunk.notBefore > now:
            noteSuspect(chunk, now)
            queue.delay(chunk, until: chunk.notBefore)
        case .again: queue.pushFront(chunk)
        case .back: queue.pushBack(chunk)
        case .split:
            let (first, second) = split(chunk, at: (chunk.count + 1) / 2)
            queue.pushFront(second)
            queue.pushFront(first)
        case .quarantine(let cause): giveUp(chunk, cause)
        case .hold(let cause):
            chunk.cause = cause
            held.append(chunk)
        }
        if destination.closure != before {
            roadChanged(from: before, isProbe: flight.isProbe, now)
        } else if destination.hasTakenRecords != knownHasTakenRecords {
            writeGate(now, .untouched)
        }
        if destination.mayQuarantine && !held.isEmpty { giveUpHeld() }
    }

    private func delivered(_ chunk: Chunk, _ now: Int64) {
        lastDeliveryAt = now
        if let window {
            for record in chunk.records { window.insert(record.fingerprint, origin: record.origin) }
        }
        settleAll(chunk.records, .delivered)
        discard(chunk)
    }

    /// Puts the records of a chunk into quarantine.
    private func giveUp(_ chunk: Chunk, _ cause: QuarantineCause) {
        eraseSome(of: chunk)
        for record in chunk.records { quarantine(record, cause, attempts: chunk.attempts) }
        discard(chunk)
    }

    /// Gives up what was held, now that the destination is known to take others.
    private func giveUpHeld() {
        let chunks = held
        held.removeAll()
        for chunk in chunks {
            if let cause = chunk.cause { giveUp(chunk, cause) } else { queue.pushBack(chunk) }
        }
    }

    /// Resolves records that expired while they waited, and takes them out of the chunk.
    private func expireSome(of chunk: Chunk) {
        guard chunk.earliestExpiry != 0, isExpired(chunk.earliestExpiry) else { return }
        resolveSome(of: chunk, .expired) { index in
            let record = chunk.records[index]
            return record.expiresAt != 0 && isExpired(record.expiresAt)
        }
    }

    /// Resolves the records that `isMeant`, asked in order, says, and takes them out of the chunk.
    func resolveSome(of chunk: Chunk, _ outcome: Outcome, where isMeant: (Int) -> Bool) {
        let rest = grouper.make()
        rest.inherit(chunk)
        for index in 0..<chunk.count {
            let record = chunk.records[index]
            if isMeant(index) {
                settleRecord(record, outcome)
            } else {
                rest.append(index, of: chunk)
            }
        }
        pendingBytes += rest.cost - chunk.cost
        chunk.takeOver(rest)
        grouper.recycle(rest)
    }

    /// Splits a chunk in two; the first part holds `count` records.
    private func split(_ chunk: Chunk, at count: Int) -> (Chunk, Chunk) {
        let (first, second) = (grouper.make(), grouper.make())
        first.inherit(chunk)
        second.inherit(chunk)
        for index in 0..<chunk.count { (index < count ? first : second).append(index, of: chunk) }
        pendingBytes += first.cost + second.cost - chunk.cost
        grouper.recycle(chunk)
        return (first, second)
    }

    private func discard(_ chunk: Chunk) {
        pendingBytes -= chunk.cost
        grouper.recycle(chunk)
    }
}
