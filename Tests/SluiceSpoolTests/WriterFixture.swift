// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Synchronization
import Testing

/// A spool's folders, a writer that works in them, and what it told.
final class WriterFixture: Sendable {
    struct Answer: Sendable {
        var ticket: UInt64
        var token: UInt
        var error: SpoolError?
    }

    let folder: TemporaryFolder?
    let root: String
    private let told = Lock<(answers: [Answer], sealed: [SegmentName: Int], failures: [SpoolError])>(([], [:], []))
    private let thread = Lock<Int?>(nil)

    init(root: String? = nil) throws {
        let folder = root == nil ? TemporaryFolder() : nil
        self.folder = folder
        self.root = root ?? folder?.path ?? ""
        for name in ["incoming", "ready", "claimed", "progress", "quarantine"] {
            try FileSystem.makeFolder("\(self.root)/\(name)")
        }
    }

    func handlers(
        ledger: @escaping @Sendable (SegmentName) throws(SpoolError) -> Void = { _ in },
        completed: @escaping @Sendable () -> Void = {}
    ) -> SegmentWriter.Handlers {
        var handlers = SegmentWriter.Handlers()
        handlers.completed = { [self] completion in
            thread.withLock { $0 = $0 ?? Self.currentThread() }
            for (index, token) in completion.tokens.enumerated() {
                let answer = Answer(
                    ticket: completion.firstTicket + UInt64(index),
                    token: token,
                    error: completion.error
                )
                told.withLock { $0.answers.append(answer) }
            }
            completed()
        }
        handlers.sealed = { [self] (name, records) throws(SpoolError) in
            told.withLock { $0.sealed[name] = records }
            try ledger(name)
        }
        handlers.failed = { [self] error in told.withLock { $0.failures.append(error) } }
        return handlers
    }

    var answers: [Answer] { told.withLock { $0.answers } }
    var sealed: [SegmentName: Int] { told.withLock { $0.sealed } }
    var failures: [SpoolError] { told.withLock { $0.failures } }
    /// The commit thread's number, once it has answered something.
    var commitThread: Int? { thread.withLock { $0 } }

    static func currentThread() -> Int? {
        var text = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/thread-self", &text, text.count - 1)
        guard count > 0 else { return nil }
        let digits = text[..<count].reversed().prefix { $0 != CChar(UInt8(ascii: "/")) }.reversed()
        return Int(String(decoding: digits.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }

    /// Hands over one request of one line and waits for its answer.
    func add(_ line: String, to writer: SegmentWriter) throws {
        try (line + "\n").withBytes { try writer.append($0, count: 1, receivedAt: 1_796_000_000) }
        try writer.flush()
    }

    func names(_ part: String) throws -> [String] { try FileSystem.names(in: "\(root)/\(part)") }

    /// The segments in `ready/`, oldest first.
    func ready() throws -> [SegmentName] { try names("ready").compactMap { SegmentName(sealedFileName: $0) }.sorted() }

    /// Every line in `ready/`, in order.
    func readyLines() throws -> [String] {
        try ready().flatMap { name in
            try Reading(opening: "\(root)/ready/\(name.sealedFileName)").delivered
                .flatMap { $0.split(separator: "\n").map(String.init) }
        }
    }
}

/// Waits for what another thread or process does; fails after half a minute.
func eventually(_ what: Comment, _ condition: () throws -> Bool) throws {
    let end = SystemClock.system.monotonicNanoseconds() + 30_000_000_000
    while try !condition() {
        try #require(SystemClock.system.monotonicNanoseconds() < end, what)
        usleep(1_000)
    }
}

/// Holds threads back until it is opened.
final class Barrier: Sendable {
    private let lock = ThreadLock()
    private let changed: ThreadCondition
    private let isOpen = Atomic(false)
    private let waiting = Atomic(0)

    init() { changed = ThreadCondition(with: lock) }

    var hasWaiters: Bool { waiting.load(ordering: .acquiring) > 0 }

    func wait() {
        lock.lock()
        waiting.add(1, ordering: .releasing)
        while !isOpen.load(ordering: .acquiring) { changed.wait() }
        lock.unlock()
    }

    func open() {
        lock.lock()
        isOpen.store(true, ordering: .releasing)
        changed.broadcast()
        lock.unlock()
    }
}
