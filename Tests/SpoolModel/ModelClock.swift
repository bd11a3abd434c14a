// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem

/// A clock that only the driver's own calls move on, so that a run depends on its seed and on no machine's speed.
///
/// Each look that the driving thread takes at the monotonic clock takes `tick`; other threads find it as it is.
final class ModelClock: Sendable {
    private struct State {
        var wall: Int64
        var monotonic: Int64 = 1_000_000_000
        var tick: Int64 = 5_000_000
    }

    private let state: Lock<State>
    // A number, which never changes.
    private let driver = pthread_self()

    /// - Parameter wallMilliseconds: later than any file of this machine, so that left-overs are old.
    init(wallMilliseconds: Int64 = 2_000_000_000_000) { state = Lock(State(wall: wallMilliseconds)) }

    var clock: SystemClock {
        SystemClock(
            wallMilliseconds: { self.wallMilliseconds },
            monotonicNanoseconds: { self.state.withLock { self.look(&$0) } }
        )
    }

    var wallMilliseconds: Int64 { state.withLock { $0.wall } }
    var wallSeconds: Int { Int(wallMilliseconds / 1000) }
    /// The monotonic clock, without moving it.
    var monotonicNanoseconds: Int64 { state.withLock { $0.monotonic } }

    private func look(_ state: inout State) -> Int64 {
        if pthread_equal(pthread_self(), driver) != 0 {
            state.monotonic += state.tick
            state.wall = max(state.wall, state.wall + state.tick / 1_000_000)
        }
        return state.monotonic
    }

    func setTick(milliseconds: Int64) { state.withLock { $0.tick = milliseconds * 1_000_000 } }

    func advance(milliseconds: Int64) {
        state.withLock {
            $0.wall += milliseconds
            $0.monotonic += milliseconds * 1_000_000
        }
    }

    func stepWall(milliseconds: Int64) { state.withLock { $0.wall += milliseconds } }
}
