// SPDX-License-Identifier: Apache-2.0

/// Collects events, keeps them in a file, and delivers them to the endpoint.
///
/// An event is on the device's disk before anything is sent, and leaves it only when the endpoint has named it accepted,
/// or by a rule that is counted. Nothing is created, written or sent before the first `setConsent(_:)` that grants a
/// purpose; later launches know what was granted.
///
/// All work is done on a queue of the client's own. Make one client for a folder and keep it.
public actor SluiceClient {
    /// What the client was made with.
    public nonisolated let configuration: SluiceConfiguration
    nonisolated let environment: ClientEnvironment
    private nonisolated let executor = QueueExecutor("sluice.client")

    /// The client's own queue.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    let storage: ClientStorage
    var pending = PendingChanges()
    /// Granted purposes, as last seen in the storage or set.
    var consent: Set<String> = []
    var identity = Identity()
    var session: Session?
    var experiments: [String: String] = [:]
    /// The file that `consent` and `identity` were read from, and its version then.
    private var seen: (opening: Int, version: Int64)?
    /// Whether `consent` is what the storage or the app says, not just the want of both.
    var isConsentKnown: Bool { seen != nil || !pending.consents.isEmpty }
    /// The storage failed, and is left alone until then.
    private var storageRestsUntil: Int64 = 0
    private(set) var storageProblem: StorageError?

    /// The delivery that runs.
    var delivery: Task<FlushResult, Never>?
    /// Whether an answer has shown that the device's clock is about right.
    var isClockProven = false
    /// When automatic delivery may go on after a failure.
    var deliveryRestsUntil: Int64 = 0
    var alarm: Alarm?

    /// Makes a client; touches no file.
    ///
    /// - Throws: `SluiceError` with the code `invalidConfiguration`, naming the value that breaks its rule.
    public init(_ configuration: SluiceConfiguration) throws(SluiceError) {
        try self.init(configuration, environment: .system())
    }

    /// Makes a client with time, chance and network of the caller's choice.
    package init(_ configuration: SluiceConfiguration, environment: ClientEnvironment) throws(SluiceError) {
        try configuration.check()
        self.configuration = configuration
        self.environment = environment
        storage = ClientStorage(folder: configuration.folder, limits: configuration.limits)
        if configuration.delivery != .manual { Task { [weak self] in await self?.resumeDelivery() } }
    }

    deinit { alarm?.task.cancel() }

    // MARK: - Storage

    /// Lends the queue after everything that is pending has been written, and what other processes changed has been read.
    ///
    /// - Throws: `absent` as long as nothing is consented to and no file is there.
    func withQueue<Value>(
        _ body: (EventQueue) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        let now = environment.now()
        if let problem = storageProblem, storageRestsUntil > now, storageRestsUntil <= now + 1000 { throw problem }
        do throws(StorageError) {
            let value = try storage.use(creates: !consent.isEmpty, now: now) { (queue) throws(StorageError) in
                try pending.write(to: queue, now: now)
                try refresh(queue)
                return try body(queue)
            }
            storageProblem = nil
            return value
        } catch {
            if error.kind == .absent {
                if seen != nil { forget() }
            } else {
                storageProblem = error
                storageRestsUntil = now + 1000
            }
            throw error
        }
    }

    /// The file was deleted: all is as before the first consent.
    private func forget() {
        seen = nil
        consent = []
        storage.consent = []
        identity = Identity()
        session = nil
        pending.events = []
        pending.drops = [:]
    }

    private func refresh(_ queue: EventQueue) throws(StorageError) {
        let version = try queue.dataVersion()
        if let seen, seen == (storage.openings, version) { return }
        consent = try queue.grantedPurposes()
        storage.consent = consent
        identity = try queue.identity()
        for edit in pending.identityEdits { edit(&identity) }
        seen = (storage.openings, version)
    }
}
