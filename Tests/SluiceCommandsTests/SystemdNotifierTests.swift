// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceTelemetry
import SluiceTestSupport
import Testing

struct SystemdNotifierTests {
    @Test(arguments: [true, false])
    func `states reach a socket at a path or with an abstract name`(isAbstract: Bool) throws {
        let folder = TemporaryFolder()
        let name = isAbstract ? "@\(folder.path)/notify" : folder.path("notify")
        let listener = try #require(NotifySocket(name: name))
        let notifier = SystemdNotifier(environment: ["NOTIFY_SOCKET": name])
        notifier.ready()
        #expect(listener.receive() == "READY=1")
        notifier.reloading()
        #expect(listener.receive().hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        notifier.status("12 pending\nhalted")
        #expect(listener.receive() == "STATUS=12 pending halted")
        notifier.stopping()
        #expect(listener.receive() == "STOPPING=1")
    }

    @Test func `the watchdog speaks while every loop turns and is silent when one stops`() throws {
        let folder = TemporaryFolder()
        let listener = try #require(NotifySocket(name: folder.path("notify")))
        let environment = [
            "NOTIFY_SOCKET": folder.path("notify"), "WATCHDOG_USEC": "20000", "WATCHDOG_PID": "\(getpid())",
        ]
        let notifier = SystemdNotifier(environment: environment)
        #expect(notifier.watchdogInterval == .milliseconds(20))
        let clock = ManualClock()
        let health = Health(clock: clock.clock)
        _ = health.heartbeat("delivery", limitSeconds: 30)
        let watchdog = try #require(notifier.startWatchdog(health))
        for _ in 0..<3 { #expect(listener.receive() == "WATCHDOG=1") }
        clock.advance(milliseconds: 31_000)
        watchdog.stop()
        let silent = try #require(notifier.startWatchdog(health))
        silent.stop()
        notifier.stopping()
        var last = listener.receive()
        while last == "WATCHDOG=1" { last = listener.receive() }
        #expect(last == "STOPPING=1")
    }

    @Test func `without systemd nothing is sent`() {
        let notifier = SystemdNotifier(environment: ["WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"])
        notifier.ready()
        #expect(notifier.watchdogInterval == nil)
        #expect(notifier.startWatchdog(Health()) == nil)
    }
}
