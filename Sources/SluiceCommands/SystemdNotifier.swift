// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem
package import SluiceTelemetry

/// Tells systemd how the program is, as `sd_notify(3)` does; without `NOTIFY_SOCKET` it does nothing.
package struct SystemdNotifier: Sendable {
    private let socketPath: String?
    /// How often systemd wants to hear from the program, `sd_watchdog_enabled(3)`.
    package let watchdogInterval: Duration?

    package init(environment: [String: String]) {
        let path = environment["NOTIFY_SOCKET"] ?? ""
        socketPath = path.hasPrefix("/") || path.hasPrefix("@") ? path : nil
        let isMeant = environment["WATCHDOG_PID"].map { Int32($0) == getpid() } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        watchdogInterval = isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// The program takes work.
    package func ready() { send("READY=1") }

    /// The program ends.
    package func stopping() { send("STOPPING=1") }

    /// The program reads its configuration again; `ready` follows.
    package func reloading(clock: SystemClock = .system) {
        send("RELOADING=1\nMONOTONIC_USEC=\(clock.monotonicNanoseconds() / 1000)")
    }

    /// A sentence for `systemctl status`.
    package func status(_ text: String) { send("STATUS=\(text.replacing("\n", with: " "))") }

    /// A sign of life.
    package func watchdog() { send("WATCHDOG=1") }

    /// Sends signs of life twice as often as systemd wants them, as long as `health` finds every loop turning.
    ///
    /// - Returns: nil when systemd did not ask.
    package func startWatchdog(_ health: Health) -> Watchdog? {
        guard let watchdogInterval else { return nil }
        return Watchdog(interval: watchdogInterval / 2) {
            if health.livenessProblems.isEmpty { watchdog() }
        }
    }

    /// Sends one datagram and never waits; a systemd that does not listen is none of the program's business.
    private func send(_ text: String) {
        guard let socketPath else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(socketPath.utf8)
        let isAbstract = name.first == UInt8(ascii: "@")
        if isAbstract { name[0] = 0 }
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard name.count < capacity else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        // The name of an abstract socket ends with the given length, a path with its zero byte; see unix(7).
        let length = MemoryLayout<sockaddr_un>.size - capacity + name.count + (isAbstract ? 0 : 1)
        let message = Array(text.utf8)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = sendto(
                    descriptor,
                    message,
                    message.count,
                    Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL),
                    address,
                    socklen_t(length)
                )
            }
        }
    }
}
