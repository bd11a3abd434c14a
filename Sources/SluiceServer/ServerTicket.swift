// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem
internal import Synchronization

/// The right to answer one request, from any thread and at any time; only the first answer counts.
package struct ServerTicket: Sendable {
    let request: ServerRequest
    let generation: UInt64

    /// Answers the request.
    ///
    /// - Returns: false when it was answered already or its connection has ended.
    @discardableResult
    package func answer(_ answer: ServerAnswer) -> Bool {
        request.resolve(.answer(answer), generation: generation)
    }

    /// Resets the connection without an answer.
    package func reset() { _ = request.resolve(.reset, generation: generation) }

    /// Ends the connection without an answer.
    package func abort() { request.abort(generation: generation) }
}

extension ServerRequest {
    /// Ends the connection of that request without an answer.
    func abort(generation: UInt64) {
        // A request that has ended may have outlived its server.
        guard reply.withLock({ $0.generation == generation }) else { return }
        server.connections.ifOpen(self) {
            if reply.withLock({ $0.generation == generation }) { shutDown() }
        }
    }
}
