// SPDX-License-Identifier: Apache-2.0
import CSluiceFloor
import Glibc
import SluiceCommands
import SluiceHTTP
import SluiceSystem

/// What the machine could do at best, measured in the same run as what the programs do: then results of different days
/// and machines can be compared by their ratio.
enum Floor {
    /// The bare accepting path.
    static func startEndpoint(_ folder: String) throws -> ListeningProgram {
        try ListeningProgram("sluice-bench", ["floor", "endpoint", "\(folder)/floor"], output: "\(folder)/floor.out")
    }

    /// Ready requests through libcurl to a plain sink.
    struct Sending {
        private let sink: ListeningProgram
        let sender: ChildProcess

        init(_ folder: String, events: Int, inFlight: Int) throws {
            sink = try ListeningProgram("sluice-bench", ["floor", "sink"], output: "\(folder)/sink.out")
            sender = try ChildProcess(
                try Bench.program("sluice-bench"),
                [
                    "floor", "send", "--url", "http://\(sink.address)", "--events", "\(events)",
                    "--in-flight", "\(inFlight)",
                ]
            )
        }

        /// Waits for the end.
        ///
        /// - Returns: CPU seconds of the sender.
        func wait() throws -> Double {
            let ending = sender.wait()
            sink.stop()
            guard ending.code == 0 else {
                throw CommandError(.software, "the floor's sender ended with \(ending.code)")
            }
            return ending.cpuSeconds
        }
    }
}

/// `sluice-bench floor endpoint`: the bare accepting path.
struct FloorEndpoint: Command {
    static let abstract = "Be what endpoint compares with: bodies are made durable, not validated."
    static let usage = "FILE"
    static let help = "Appends to FILE until it is ended; says where it listens."

    private let path: String

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        path = try arguments.remaining("FILE")[0]
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        try Self.serve(on: sluice_floor_endpoint(path), context)
    }

    /// Tells the port and lets the threads work.
    static func serve(on port: Int32, _ context: CommandContext) throws -> ExitCode {
        guard port >= 0 else { throw SystemError(call: "listen", path: "127.0.0.1", errno: errno) }
        try context.output.line("listening on 127.0.0.1:\(port)")
        try context.output.flush()
        while true { pause() }
    }
}

/// `sluice-bench floor sink`: reads and answers.
struct FloorSink: Command {
    static let abstract = "Be what relay's floor sends to: bodies are read, not looked at."
    static let usage = ""
    static let help = "Runs until it is ended; says where it listens."

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        try FloorEndpoint.serve(on: sluice_floor_sink(), context)
    }
}

/// `sluice-bench floor send`: ready requests of 50 events each.
struct FloorSend: Command {
    static let abstract = "Be what relay compares with: requests that were made before are sent."
    static let usage = "--url URL --events N [--in-flight N]"
    static let help = "Sends N events, 50 a request, and ends."

    private let url: String
    private let requests: Int
    private let inFlight: Int

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        url = try arguments.option("--url") ?? "http://127.0.0.1"
        requests = max(1, (try arguments.integer("--events", in: 1...1_000_000_000) ?? 1_000_000) / 50)
        inFlight = try arguments.integer("--in-flight", in: 1...1000) ?? 16
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let bodies = try (0..<64).map { RequestBody(try SampleRequest.body(from: $0 * 50)) }
        let headers = HTTPHeaderList([("Content-Type", "application/json")])
        let signal = Signal()
        let client = HTTPClient { signal.raise() }
        var (sent, ended) = (0, 0)
        var completions: [HTTPCompletion] = []
        while ended < requests {
            while sent < requests && sent - ended < inFlight {
                let body = bodies[sent % bodies.count]
                client.send(.post("\(url)/api/bulk-log", headers: headers, body: body), tag: sent)
                sent += 1
            }
            signal.wait(nanoseconds: 1_000_000_000)
            completions.removeAll(keepingCapacity: true)
            client.takeCompletions(into: &completions)
            for completion in completions {
                guard case .answer(let answer) = completion.result, answer.status == 200 else {
                    throw CommandError(.software, "the floor's sink did not take a request: \(completion.result)")
                }
            }
            ended += completions.count
        }
        client.close()
        return .ok
    }
}
