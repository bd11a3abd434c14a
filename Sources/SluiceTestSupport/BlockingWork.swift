// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// Runs what blocks on a thread of its own, so that other tests go on.
package func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        _ = SystemThread(name: "test") {
            continuation.resume(with: Swift.Result { try body() })
        }
    }
}
