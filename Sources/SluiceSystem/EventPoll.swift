// SPDX-License-Identifier: Apache-2.0
internal import CSluiceSystem
internal import Glibc

/// Waits for many descriptors at once, `epoll(7)`.
package final class EventPoll {
    private let descriptor: Int32
    private var events = [sluice_epoll_event](repeating: sluice_epoll_event(), count: 256)

    package init() throws(SystemError) {
        descriptor = sluice_epoll_create()
        guard descriptor >= 0 else { throw SystemError(call: "epoll_create1", path: "epoll", errno: errno) }
    }

    deinit { close(descriptor) }

    /// Watches for input, and for room to write too when that is asked for; `mark` is what `wait` hands out, and `isNew` is
    /// false to change what a known descriptor is watched for.
    package func watch(_ file: Int32, mark: Int, forRoom: Bool = false, isNew: Bool = true) {
        _ = sluice_epoll_control(descriptor, isNew ? 1 : 3, file, forRoom ? 1 : 0, UInt64(mark))
    }

    /// Calls `body` with the mark of each descriptor that is ready.
    package func wait(milliseconds: Int32, _ body: (Int) throws -> Void) rethrows {
        let count = sluice_epoll_wait(descriptor, &events, Int32(events.count), milliseconds)
        for index in 0..<Int(max(0, count)) { try body(Int(events[index].mark)) }
    }
}
