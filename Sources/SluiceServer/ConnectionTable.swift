// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// All open connections by descriptor.
///
/// libmicrohttpd closes a descriptor only after it told so, which takes this lock: under it no descriptor changes
/// hands.
final class ConnectionTable: Sendable {
    private struct State {
        var requests: [ServerRequest?] = []
        var count = 0
        var countByNetwork: [PeerAddress: Int] = [:]
    }

    private let state = Lock(State())
    private let maximum: Int
    private let maximumPerNetwork: Int

    init(maximum: Int, maximumPerNetwork: Int) {
        self.maximum = maximum
        self.maximumPerNetwork = maximumPerNetwork
    }

    var count: Int { state.withLock { $0.count } }
    var isFull: Bool { count >= maximum }

    /// Adds a connection; false when its network has enough.
    func add(_ request: ServerRequest) -> Bool {
        state.withLock { state in
            let index = Int(request.descriptor)
            while state.requests.count <= index { state.requests.append(nil) }
            // libmicrohttpd may close a connection without a word when it runs out of memory before it began.
            if let stale = state.requests[index] { Self.remove(stale, &state) }
            let network = request.peer.network
            let count = state.countByNetwork[network, default: 0]
            if maximumPerNetwork > 0 && count >= maximumPerNetwork { return false }
            state.countByNetwork[network] = count + 1
            state.requests[index] = request
            state.count += 1
            return true
        }
    }

    func remove(_ request: ServerRequest) {
        state.withLock { state in
            let index = Int(request.descriptor)
            if index < state.requests.count, state.requests[index] === request { Self.remove(request, &state) }
        }
    }

    private static func remove(_ request: ServerRequest, _ state: inout State) {
        state.requests[Int(request.descriptor)] = nil
        state.count -= 1
        let network = request.peer.network
        let count = state.countByNetwork[network, default: 1]
        state.countByNetwork[network] = count > 1 ? count - 1 : nil
    }

    func request(_ descriptor: Int32) -> ServerRequest? {
        state.withLock { $0.requests.indices.contains(Int(descriptor)) ? $0.requests[Int(descriptor)] : nil }
    }

    /// Calls `body` for every connection; it must not take this lock again.
    func visit(_ body: (ServerRequest) -> Void) {
        state.withLock { state in
            for case .some(let request) in state.requests { body(request) }
        }
    }

    /// Runs `body` if that connection is still open.
    func ifOpen(_ request: ServerRequest, _ body: () -> Void) {
        state.withLock { state in
            let index = Int(request.descriptor)
            if index < state.requests.count, state.requests[index] === request { body() }
        }
    }
}
