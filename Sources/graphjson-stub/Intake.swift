// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceServer
import SluiceSoak
import SluiceSystem
import Synchronization

/// Judges requests: the faults that were asked for first, then what they say.
final class Intake: Sendable {
    let statistics = Statistics()
    private let options: StubOptions
    private let store: StubStore?
    private let poison: Set<EventIDHash>
    private let recorder: Recorder?
    private let tools: ToolPool
    private let isAuthorized: Atomic<Bool>
    private let luck = Luck()

    init(_ options: StubOptions, store: StubStore?, recorder: Recorder?) {
        self.options = options
        self.store = store
        self.recorder = recorder
        tools = ToolPool(recorder?.plan)
        poison = Set(options.poisonIDs.map { id in Array(id.utf8).withUnsafeBytes { EventIDHash($0) } })
        isAuthorized = Atomic(options.unauthorizedUntilPath == nil)
    }

    /// Takes or refuses one request.
    func take(_ bytes: UnsafeRawBufferPointer, isBulk: Bool) -> ServerHandler.Outcome {
        let number = statistics.countRequest()
        if recorder?.resetsUntaken() == true { return .reset }
        do throws(Refusal) {
            try failAsAsked(number)
            try recorder?.failAsAsked(bodyBytes: bytes.count)
            let tool = tools.take()
            defer { tools.give(tool) }
            try judge(bytes, isBulk, number, tool)
        } catch {
            statistics.countRejected()
            return .answer(refusal(error))
        }
        guard luck.hits(options.resetRate) || recorder?.cutsAnswer() == true else { return .answer(.accepted) }
        statistics.countReset()
        return .reset
    }

    private func failAsAsked(_ number: Int) throws(Refusal) {
        var end = 0
        for failure in options.failures {
            end += failure.count
            if number <= end { throw Refusal(failure.status, Self.asked) }
        }
        if luck.hits(options.failureRate) { throw Refusal(503, Self.asked) }
        if !isAuthorized.load(ordering: .relaxed), let path = options.unauthorizedUntilPath {
            if access(path, F_OK) != 0 { throw Refusal(401, "not authorized yet") }
            isAuthorized.store(true, ordering: .relaxed)
        }
    }

    private static let asked = "failed as asked"

    private func judge(_ bytes: UnsafeRawBufferPointer, _ isBulk: Bool, _ number: Int, _ tool: Tool) throws(Refusal) {
        let check = tool.check
        defer { statistics.sawEvents(check.eventCount) }
        try check.check(bytes, isBulk: isBulk, key: options.key)
        if check.eventCount > RequestCheck.maximumEvents {
            throw Refusal(400, "\(check.eventCount) events are more than \(RequestCheck.maximumEvents)")
        }
        if options.rejectsAll { throw Refusal(400, "everything is rejected") }
        if !poison.isEmpty, check.eventIDs.contains(where: { poison.contains($0) }) {
            throw Refusal(options.poisonStatus, "an event is poison")
        }
        try recorder?.refuseBadEvents(check.arrivals)
        try keep(number, tool)
        recorder?.note(check.arrivals)
        statistics.countAccepted(check.eventCount)
        statistics.eventIDs.insert(check.eventIDs)
    }

    private func keep(_ number: Int, _ tool: Tool) throws(Refusal) {
        guard let store else { return }
        tool.lines.removeAll()
        tool.check.writeLines(request: number, to: &tool.lines)
        do throws(SystemError) {
            try store.append(tool.lines.bytes)
        } catch {
            throw Refusal(500, "\(error)")
        }
    }

    private func refusal(_ error: Refusal) -> ServerAnswer {
        let asked = error.reason == Self.asked ? options.retryAfterSeconds : nil
        guard let seconds = error.retryAfterSeconds ?? asked else { return .refused(error.status, error.reason) }
        return .refused(error.status, error.reason, headers: [("Retry-After", String(seconds))])
    }
}

/// The memory that one request is checked with.
final class Tool {
    let check: RequestCheck
    var lines = ByteBuffer()

    init(_ plan: SoakPlan?) { check = RequestCheck(plan) }
}

/// Tools that are not in use; no more than there are threads.
///
/// `@unchecked Sendable`: a tool in the pool has no other reference, and the list is under the lock.
private final class ToolPool: @unchecked Sendable {
    private let plan: SoakPlan?
    private let lock = Lock(())
    private var tools: [Tool] = []

    init(_ plan: SoakPlan?) { self.plan = plan }

    func take() -> Tool { lock.withLock { _ in tools.popLast() } ?? Tool(plan) }

    func give(_ tool: Tool) { lock.withLock { _ in tools.append(tool) } }
}
