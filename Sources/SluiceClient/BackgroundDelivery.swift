// SPDX-License-Identifier: Apache-2.0
#if canImport(BackgroundTasks) && !os(macOS)
internal import BackgroundTasks
internal import Foundation

/// Delivers while the app is in the background, by one task of the system's scheduler; never one for each event.
///
/// The system decides whether and when it runs the task: events are safe on disk without it, and no promise depends on it.
/// The identifier must stand in the app's Info.plist under `BGTaskSchedulerPermittedIdentifiers`, and `processing` under
/// `UIBackgroundModes`.
///
/// ```swift
/// let delivery = BackgroundDelivery(of: client, identifier: "com.example.app.events")
/// delivery.register()  // before the launch has finished
/// try await delivery.schedule()  // whenever the app goes to the background
/// ```
public final class BackgroundDelivery: Sendable {
    /// What the system's scheduler calls the task.
    public let identifier: String
    private let client: SluiceClient

    /// Makes the adapter; the system is not asked for anything yet.
    ///
    /// - Parameters:
    ///   - client: whose events are delivered.
    ///   - identifier: one that the app's Info.plist permits.
    public init(of client: SluiceClient, identifier: String) {
        self.client = client
        self.identifier = identifier
    }

    /// Tells the system what to run; once, and before the app's launch has finished.
    ///
    /// - Returns: whether the Info.plist permits the identifier.
    @discardableResult
    public func register() -> Bool {
        BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: nil) { task in
            self.run(task)
        }
    }

    /// Asks for one run at the time when something is due next, or takes the request back when nothing is.
    ///
    /// A new request replaces the one before it, so this may be called as often as one likes.
    ///
    /// - Throws: what the system's scheduler throws, such as when background work is switched off for the app.
    public func schedule() async throws {
        guard let due = await client.nextDelivery() else {
            BGTaskScheduler.shared.cancel(taskRequestWithIdentifier: identifier)
            return
        }
        let request = BGProcessingTaskRequest(identifier: identifier)
        request.requiresNetworkConnectivity = true
        request.requiresExternalPower = false
        request.earliestBeginDate = due
        try BGTaskScheduler.shared.submit(request)
    }

    private func run(_ task: BGTask) {
        // The system hands the task over and expects its end from any thread.
        nonisolated(unsafe) let task = task
        let flush = Task {
            let result = await client.flush()
            // The next run is asked for before this one ends, as the app may be suspended right after it.
            try? await schedule()  // where the system refuses, the next launch delivers
            task.setTaskCompleted(success: result.end == .finished)
        }
        task.expirationHandler = { flush.cancel() }
    }
}
#endif
