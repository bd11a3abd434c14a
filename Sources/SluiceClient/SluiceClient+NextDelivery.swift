// SPDX-License-Identifier: Apache-2.0
public import Foundation

extension SluiceClient {
    /// When something can be delivered next: the time to give to the system's scheduler of background work.
    ///
    /// - Returns: nil when nothing is queued, or nothing may be sent because nobody has consented.
    public func nextDelivery() -> Date? {
        let now = environment.now()
        let due = try? withQueue { (queue) throws(StorageError) -> Int64? in
            try queue.grantedPurposes().isEmpty ? nil : try queue.nextDue(now: now)
        }
        // A file that is not there, or cannot be read, has nothing that could be sent.
        return (due ?? nil).map { Date(timeIntervalSince1970: Double($0) / 1000) }
    }
}
