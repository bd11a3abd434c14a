// SPDX-License-Identifier: Apache-2.0
import SluiceTelemetry
import SluiceTestSupport
import Testing

struct MetricsRegistryTests {
    @Test func `the text is what Prometheus reads`() {
        let registry = MetricsRegistry()
        let events = registry.counters("sluice_relay_events_total", help: "Events by result.", labels: ["result"])
        events["delivered"].increment(by: 50)
        events[#"od"d\"# + "\n"].increment()
        registry.gauge("sluice_relay_halted", help: "Whether the relay\nhalted \\o/.").record(0)
        let durations = registry.histogram("sluice_relay_request_duration_seconds", help: "Seconds.", bounds: [0.1, 1])
        for value in [0.05, 0.1, 0.5, 3] { durations.record(value) }
        registry.observe("sluice_spool_bytes", help: "Bytes.", labels: ["state"]) {
            [.init(labels: ["ready"], value: 1024), .init(labels: ["quarantine"], value: 0.5)]
        }
        #expect(
            registry.text() == #"""
                # HELP sluice_relay_events_total Events by result.
                # TYPE sluice_relay_events_total counter
                sluice_relay_events_total{result="delivered"} 50
                sluice_relay_events_total{result="od\"d\\\n"} 1
                # HELP sluice_relay_halted Whether the relay\nhalted \\o/.
                # TYPE sluice_relay_halted gauge
                sluice_relay_halted 0
                # HELP sluice_relay_request_duration_seconds Seconds.
                # TYPE sluice_relay_request_duration_seconds histogram
                sluice_relay_request_duration_seconds_bucket{le="0.1"} 2
                sluice_relay_request_duration_seconds_bucket{le="1"} 3
                sluice_relay_request_duration_seconds_bucket{le="+Inf"} 4
                sluice_relay_request_duration_seconds_sum 3.65
                sluice_relay_request_duration_seconds_count 4
                # HELP sluice_spool_bytes Bytes.
                # TYPE sluice_spool_bytes gauge
                sluice_spool_bytes{state="ready"} 1024
                sluice_spool_bytes{state="quarantine"} 0.5

                """#
        )
    }

    @Test func `series beyond the bound share one`() {
        let registry = MetricsRegistry()
        let events = registry.counters("a_total", help: "A.", labels: ["event", "code"], maximumSeries: 3)
        for index in 0..<100 { events["event\(index)", "ok"].increment() }
        events["event0", "ok"].increment()
        let lines = registry.text().split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(
            lines == [
                #"a_total{event="event0",code="ok"} 2"#, #"a_total{event="event1",code="ok"} 1"#,
                #"a_total{event="event2",code="ok"} 1"#, #"a_total{event="other",code="other"} 97"#,
            ]
        )
    }

    @Test func `label values that only look alike stay apart`() {
        let family = MetricsRegistry().counters("a_total", help: "A.", labels: ["event"])
        family["caf\u{E9}"].increment()
        family["cafe\u{301}"].increment(by: 2)
        #expect(family["caf\u{E9}"].value == 1)
    }

    @Test func `counting from many threads loses nothing`() async {
        let registry = MetricsRegistry()
        let family = registry.counters("a_total", help: "A.", labels: ["n"])
        let gauge = registry.gauge("b", help: "B.")
        let histogram = registry.histogram("c_seconds", help: "C.")
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 {
                        family["\(task % 2)"].increment()
                        gauge.add(1)
                        histogram.record(duration: .milliseconds(2))
                    }
                }
            }
        }
        #expect(family["0"].value == 4000)
        #expect(gauge.value == 8000)
        #expect(histogram.snapshot.counts.reduce(0, +) == 8000)
    }

    @Test func `a name that breaks the conventions is a bug of ours`() async {
        await #expect(processExitsWith: .failure) { _ = MetricsRegistry().counter("events", help: "") }
        await #expect(processExitsWith: .failure) { _ = MetricsRegistry().gauge("1st-event", help: "") }
        await #expect(processExitsWith: .failure) {
            let registry = MetricsRegistry()
            _ = registry.gauge("a", help: "")
            _ = registry.gauge("a", help: "")
        }
    }

    @Test func `the process tells of itself`() {
        let registry = MetricsRegistry()
        ProcessMetrics.register(in: registry, version: "1.0.0", program: "sluice-relay")
        let text = registry.text()
        #expect(text.contains("\nprocess_resident_memory_bytes "))
        #expect(text.contains("\nprocess_resident_anonymous_memory_bytes "))
        #expect(text.contains("process_cpu_seconds_total "))
        #expect(text.contains("\nprocess_open_fds "))
        #expect(text.contains(#"sluice_build_info{program="sluice-relay",version="1.0.0"} 1"#))
    }
}

struct HealthTests {
    @Test func `a problem makes it not ready and leaves it alive`() {
        let health = Health(clock: ManualClock().clock)
        health.report("spool", "no space left on the disk")
        #expect(health.readinessProblems == ["spool: no space left on the disk"])
        #expect(health.livenessProblems == [])
        health.clear("spool")
        #expect(health.readinessProblems == [])
    }

    /// Case C33.
    @Test func `a loop that stopped turning is told by name`() {
        let clock = ManualClock()
        let health = Health(clock: clock.clock)
        let heartbeat = health.heartbeat("delivery", limitSeconds: 30)
        clock.advance(milliseconds: 30_000)
        #expect(health.livenessProblems == [])
        clock.advance(milliseconds: 1000)
        #expect(health.livenessProblems == ["delivery: has not turned for 31 s"])
        #expect(health.readinessProblems == ["delivery: has not turned for 31 s"])
        heartbeat.beat()
        #expect(health.livenessProblems == [])
        heartbeat.rest()
        clock.advance(milliseconds: 100_000)
        #expect(health.livenessProblems == [])
    }
}
