// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSystem

/// `sluice-bench report`: results as a document.
struct ReportCommand: Command {
    static let abstract = "Write results as Markdown, with the machine they came from."
    static let usage = "MEASURED"
    static let help = """
        MEASURED holds what benchmarks printed with --json, a line each, on this machine and today.

        Exit codes: 0 done; 65 the file holds something else; 74 it cannot be read.
        """

    private let path: String

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        path = try arguments.remaining("MEASURED")[0]
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let results = try BenchmarkResult.read(path)
        var lines = [
            "# Benchmarks", "",
            "Written by `deploy/bench.sh`; what stands under Remarks is kept. \(Self.machine)", "",
            "Programs, load generator and stub share the processors. A **floor** is the least that the machine must do for",
            "the same events, measured in the same run: for the endpoint, libmicrohttpd, simdjson over every field, LZ4 and",
            "fdatasync before the answer, without validation; for the relay, ready requests through libcurl to a plain",
            "sink; for the path, both at once. Ratios to it can be compared between days and machines:",
            "`deploy/bench.sh --check` fails when one drops by more than a third.", "", "## Targets", "",
            "| benchmark | figure | target | median | |", "|---|---|---|---:|---|",
        ]
        for result in results {
            for figure in result.figures {
                guard let target = figure.target else { continue }
                lines.append(
                    "| `\(result.title)` | \(figure.name.replacing("_", with: " ")) | \(target.text) "
                        + "| \(Figure.text(figure.median)) | \(figure.standing) |"
                )
            }
        }
        lines += ["", "## Figures"]
        for result in results { lines += [""] + result.markdown }
        for line in lines { try context.output.line(line) }
        return .ok
    }

    private static var machine: String {
        let time = CalendarTime(secondsSince1970: SystemClock.system.wallSeconds)
        var system = utsname()
        uname(&system)
        let release = withUnsafeBytes(of: &system.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let memory = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE)) >> 30
        let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        return "Measured at \(time) on \(processors) processors (\(processor)), \(memory) GiB of memory, Linux "
            + "\(release)."
    }

    private static var processor: String {
        let text = (try? FileSystem.contents(ofProc: "/proc/cpuinfo")) ?? []  // no /proc here
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") where line.hasPrefix("model name") {
            return line.split(separator: ":").dropFirst().joined(separator: ":").trimmingPrefix(" ").description
        }
        return "unknown"
    }
}
