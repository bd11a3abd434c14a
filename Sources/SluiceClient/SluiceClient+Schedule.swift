// SPDX-License-Identifier: Apache-2.0

/// The one delivery that is planned.
struct Alarm {
    /// Unix milliseconds.
    var due: Int64
    var task: Task<Void, Never>
}

extension SluiceClient {
    /// Plans a delivery after an event was queued.
    func scheduleDelivery(queued: Int, _ now: Int64) {
        guard case .automatic(let delay, let events) = configuration.delivery, delivery == nil else { return }
        let isEnough = queued >= events
        let isResting = deliveryRestsUntil > now && deliveryRestsUntil <= EventQueue.horizon(now)
        setAlarm(after: max(isEnough ? 0 : delay.milliseconds, isResting ? deliveryRestsUntil - now : 0), now)
    }

    /// Plans a delivery of what an earlier launch left.
    func resumeDelivery() {
        let now = environment.now()
        guard let totals = try? withQueue({ (queue) throws(StorageError) in try queue.totals() }) else { return }
        if totals.events > 0 { scheduleDelivery(queued: totals.events, now) }
    }

    /// Plans the next delivery after one has ended.
    func deliveryEnded(_ result: FlushResult) {
        let now = environment.now()
        deliveryRestsUntil = 0
        guard configuration.delivery != .manual else { return }
        switch result.end {
        case .finished, .waiting:
            guard let due = (try? withQueue { (queue) throws(StorageError) in try queue.nextDue(now: now) }) ?? nil
            else { return }
            // What is due already and was not sent, such as what has expired by a clock that is not proven, waits longest.
            deliveryRestsUntil = due > now ? due : now + Backoff.maximumMilliseconds
        case .storageFailed: deliveryRestsUntil = now + 60_000
        case .cancelled, .noConsent: return
        }
        setAlarm(after: deliveryRestsUntil - now, now)
    }

    private func setAlarm(after milliseconds: Int64, _ now: Int64) {
        let due = now + milliseconds
        if let alarm, alarm.due <= due, alarm.due >= now { return }
        alarm?.task.cancel()
        let task = Task { [weak self] in
            do {
                try await Task.sleep(for: .milliseconds(milliseconds))
            } catch {
                return  // another alarm took its place, or the client is gone
            }
            await self?.ring()
        }
        alarm = Alarm(due: due, task: task)
    }

    private func ring() async {
        alarm = nil
        await flush()
    }
}
