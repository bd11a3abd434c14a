// SPDX-License-Identifier: Apache-2.0

extension SluiceClient {
    /// Sends what is due, oldest first, until nothing is left or the endpoint wants a pause.
    ///
    /// One delivery runs at a time: a call during another one waits for that one's end. Cancelling the calling task stops
    /// the delivery, whoever began it; its events keep their place.
    ///
    /// - Returns: what the delivery did.
    @discardableResult
    public func flush() async -> FlushResult {
        let running = delivery ?? startDelivery()
        return await withTaskCancellationHandler {
            await running.value
        } onCancel: {
            running.cancel()
        }
    }

    private func startDelivery() -> Task<FlushResult, Never> {
        let started = Task {
            let result = await deliver()
            delivery = nil
            deliveryEnded(result)
            return result
        }
        delivery = started
        return started
    }

    private func deliver() async -> FlushResult {
        var result = FlushResult()
        result.end = .storageFailed
        do throws(StorageError) {
            while !Task.isCancelled {
                guard let batch = try claim(&result) else {
                    try tidy()
                    return result
                }
                let outcome = await send(batch, &result)
                do throws(StorageError) {
                    let now = environment.now()
                    try withQueue { (queue) throws(StorageError) in try queue.settle(outcome, of: batch, now: now) }
                } catch {
                    // Known to have arrived, and not written: nothing more is sent before that is.
                    pending.outcomes.append((outcome, batch))
                    throw error
                }
                result.accepted += outcome.accepted.count
                result.rejected += outcome.rejected.count
            }
            result.end = .cancelled
        } catch {
            if error.kind == .absent { result.end = .noConsent }
        }
        return result
    }

    private func claim(_ result: inout FlushResult) throws(StorageError) -> ClaimedBatch? {
        let lease = configuration.limits.requestDeadline + .seconds(90)
        let now = environment.now()
        switch try withQueue({ (queue) throws(StorageError) in try queue.claim(now: now, lease: lease) }) {
        case .batch(let batch): return batch
        case .nothing: result.end = .finished
        case .waiting: result.end = .waiting
        case .noConsent: result.end = .noConsent
        }
        return nil
    }

    /// Removes what is too old, once an answer has shown that the clock can be believed.
    private func tidy() throws(StorageError) {
        let now = environment.now()
        let expires = isClockProven
        try withQueue { (queue) throws(StorageError) in
            if expires { try queue.expire(now: now) }
            try queue.shrink()
        }
    }

    // MARK: - One request

    private func send(_ batch: ClaimedBatch, _ result: inout FlushResult) async -> DeliveryOutcome {
        let policy = DeliveryPolicy(maximumBatchEvents: configuration.limits.batchEvents)
        var token: String?
        do {
            if let user = batch.user { token = try await configuration.userToken?(user) }
        } catch {
            if Task.isCancelled { return policy.cancelled(batch.events, state: batch.state) }
            return policy.tokenFailed(batch.events, state: batch.state, random: environment.random())
        }
        if Task.isCancelled { return policy.cancelled(batch.events, state: batch.state) }
        result.requests += 1
        var verdict = AnswerVerdict.failed
        do {
            let answer = try await environment.send(request(for: batch, token: token))
            let now = Int(environment.now() / 1000)
            if let date = answer.date.flatMap({ HTTPDate.seconds($0) }) { isClockProven = abs(date - now) < 86400 }
            verdict = answer.verdict(now: now)
        } catch {
            // Any error is no answer; the platforms do not agree on more.
            if Task.isCancelled { return policy.cancelled(batch.events, state: batch.state) }
        }
        return policy.outcome(
            of: verdict,
            batch: batch.events,
            hasToken: token != nil,
            state: batch.state,
            random: environment.random()
        )
    }

    private func request(for batch: ClaimedBatch, token: String?) -> EndpointRequest {
        var headers = [
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "SluiceClient/1",
        ]
        headers["X-Client-ID"] = configuration.clientID
        headers["Authorization"] = token.map { "Bearer \($0)" }
        return EndpointRequest(
            url: configuration.endpoint,
            headers: headers,
            body: BatchBody.encode(
                events: batch.events.map(\.envelope),
                drops: batch.drops,
                clientSentAt: Int(max(0, environment.now()) / 1000)
            ),
            deadline: configuration.limits.requestDeadline
        )
    }
}
