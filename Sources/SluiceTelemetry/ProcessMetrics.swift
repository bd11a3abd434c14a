// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// What the kernel knows of this process, under the names that Prometheus libraries share.
package enum ProcessMetrics {
    package static func register(in registry: MetricsRegistry, version: String, program: String) {
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        registry.observe("process_cpu_seconds_total", .counter, help: "User and system time of the process.") {
            let fields = statFields()
            guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return [] }
            return [.init(value: (user + system) / ticks)]
        }
        registry.observe("process_resident_memory_bytes", .gauge, help: "Resident memory of the process.") {
            status("VmRSS:").map { [.init(value: $0)] } ?? []
        }
        registry.observe(
            "process_resident_anonymous_memory_bytes",
            .gauge,
            help: "Resident memory without mapped files."
        ) {
            status("RssAnon:").map { [.init(value: $0)] } ?? []
        }
        registry.observe("process_open_fds", .gauge, help: "Open file descriptors.") {
            (try? FileSystem.names(in: "/proc/self/fd")).map { [.init(value: Double($0.count - 1))] } ?? []  // no /proc
        }
        registry.observe(
            "sluice_build_info",
            .gauge,
            help: "Always 1; the labels say what runs.",
            labels: ["program", "version"]
        ) {
            [.init(labels: [program, version], value: 1)]
        }
    }

    /// The fields of `/proc/self/stat` after the command name, which may itself hold blanks and brackets.
    private static func statFields() -> [Substring] {
        let text = contents("/proc/self/stat")
        guard let end = text.lastIndex(of: ")") else { return [] }
        return text[text.index(after: end)...].split(separator: " ")
    }

    /// A line of `/proc/self/status` that counts kB, in bytes.
    private static func status(_ name: String) -> Double? {
        for line in contents("/proc/self/status").split(separator: "\n") where line.hasPrefix(name) {
            return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Double($0) }
                .map { $0 * 1024 }
        }
        return nil
    }

    private static func contents(_ path: String) -> String {
        let bytes = (try? FileSystem.contents(of: path, limit: 65536)) ?? []  // no /proc: no such metric
        return String(decoding: bytes, as: UTF8.self)
    }
}
