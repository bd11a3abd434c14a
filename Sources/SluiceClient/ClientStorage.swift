// SPDX-License-Identifier: Apache-2.0
internal import Foundation

/// The queue's file: opened when it is needed, set aside when it is damaged.
final class ClientStorage {
    let file: URL
    let limits: SluiceLimits
    /// Purposes that this process last saw granted; a damaged file may not tell any more.
    var consent: Set<String> = []
    /// How often the file was opened.
    private(set) var openings = 0
    private var queue: EventQueue?

    init(folder: URL, limits: SluiceLimits) {
        file = folder.appendingPathComponent("sluice-client.sqlite", isDirectory: false)
        self.limits = limits
    }

    var exists: Bool { queue != nil || FileManager.default.fileExists(atPath: file.path) }

    /// Lends the queue.
    ///
    /// - Parameters:
    ///   - creates: whether the file may be made.
    ///   - now: Unix milliseconds.
    ///   - body: may run again on a new file when the old one turns out to be damaged.
    /// - Returns: what `body` returns.
    /// - Throws: what it throws; or the file cannot be opened.
    func use<Value>(
        creates: Bool,
        now: Int64,
        _ body: (EventQueue) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        do throws(StorageError) {
            return try body(try opened(creates))
        } catch {
            guard error.kind == .damaged else { throw error }
            let saved = try setAside()
            let queue = try opened(true)
            try saved.write(to: queue, now: now)
            return try body(queue)
        }
    }

    /// Removes what was set aside, with the events in it.
    func removeDamaged() {
        for end in Self.ends { try? FileManager.default.removeItem(atPath: damaged(end)) }  // mostly there is none
    }

    private func opened(_ creates: Bool) throws(StorageError) -> EventQueue {
        // Another process may have set the file aside: what is written into that one is never sent.
        if let queue, !queue.database.hasMoved { return queue }
        // A file that was deleted takes the consent with it.
        let mayCreate = creates && queue == nil
        queue = nil
        guard exists || mayCreate else { throw StorageError(kind: .absent, code: 0, detail: "no file") }
        if creates { try makeFolder() }
        let opened = try EventQueue(file.path, creates: creates, limits: limits)
        queue = opened
        openings += 1
        return opened
    }

    private func makeFolder() throws(StorageError) {
        var folder = file.deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            #if canImport(Darwin)
            // A queue that is restored from a backup would send everything twice.
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try folder.setResourceValues(values)
            #else
            folder.standardize()
            #endif
        } catch {
            throw StorageError(kind: .passing, code: 0, detail: "the folder cannot be made: \(error)")
        }
    }

    // MARK: - Damage

    private static let ends = ["", "-wal", "-shm"]
    private func damaged(_ end: String) -> String { "\(file.path).damaged\(end)" }

    /// Moves a damaged file out of the way, and reads from it what can be read.
    private func setAside() throws(StorageError) -> SavedEvents {
        queue = nil
        removeDamaged()
        for end in Self.ends where FileManager.default.fileExists(atPath: file.path + end) {
            do {
                try FileManager.default.moveItem(atPath: file.path + end, toPath: damaged(end))
            } catch {
                throw StorageError(kind: .passing, code: 0, detail: "the damaged file cannot be moved: \(error)")
            }
        }
        return SavedEvents(fromDamaged: damaged(""), limit: limits.queuedEvents, consent: consent)
    }
}
