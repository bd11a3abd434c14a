// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceEndpoint
import SluiceEvents
import SluiceSystem

/// `sluice-endpoint validate`: verdicts about events, without storing any.
struct ValidateCommand: Command {
    static let abstract = "Judge events of files or standard input by the contract, and store nothing."
    static let usage = "[--json] [options] [FILE…]"
    static let help = """
        Reads envelopes, one a line, or whole bodies {"events":[…]}, one a line or one a file, and judges each as the
        endpoint would if an app without a token posted it now. A line of output for each event that is refused, set aside,
        or loses something, with file, line, code and field; then the sum. No spool is needed, and none is touched.

        Options:
        \(HelpText.table([
            ("--json", "For each line or body the answer that the app would get; request_id is its file and line."),
            ("--server", "Judge as for a server of one's own: server-only events are taken, and user_id is believed."),
            ("--client NAME", "Judge as for this client: the contract's defaults for it apply."),
            ("--accept-clock", "Take every occurred_at as it is, for samples that are old."),
        ]))
        \(ConfigurationSource.help(ValidateCommand.settings))

        Exit codes:
          0   every event would be accepted, some perhaps set aside by the contract's on_unknown or by the clock policy
          65  something would be refused
          74  an input can't be read
          78  the configuration or the contract is wrong

        Examples:
          sluice-endpoint validate --contract contract.json5 sample.ndjson
          zcat sample.ndjson.gz | sluice-endpoint validate --contract contract.json5 --json | jq .
        """

    private static let settings = ["endpoint.contract"]

    private let source: ConfigurationSource
    private let isJSON: Bool
    private let isServer: Bool
    private let acceptsClock: Bool
    private let client: String?
    private let files: [String]

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        isJSON = try arguments.flag("--json")
        isServer = try arguments.flag("--server")
        acceptsClock = try arguments.flag("--accept-clock")
        client = try arguments.option("--client")
        source = try ConfigurationSource(
            &arguments,
            settings: Self.settings,
            environment: context.environment
        )
        files = try arguments.eventFiles()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let configuration = try source.load()
        let contract = try configuration.requiredContract()
        try InputFile.check(files)
        let admission = Admission(
            receivedAt: SystemClock.system.wallSeconds,
            collection: configuration.endpoint.collection,
            clock: acceptsClock ? .off : configuration.clockPolicy,
            client: client,
            platform: configuration.clients.first { $0.name == client }?.client.platform,
            isServer: isServer,
            environment: configuration.endpoint.environment
        )
        var judge = InputJudge(contract, under: admission, limits: configuration.eventLimits)
        for file in files {
            let name = InputFile.name(of: file)
            try judge.take(try InputFile.open(file), named: name) { refusal, line in
                try say(refusal, "\(name):\(line)", context.output)
            } onVerdict: { verdict, line in
                try say(verdict, "\(name):\(line)", context.output)
            }
        }
        let tally = judge.tally
        if isJSON { context.note(tally.summary) } else { try context.output.line(tally.summary) }
        return tally.rejectedCount > 0 ? .badData : .ok
    }

    private func say(_ refusal: BatchRefusal, _ place: String, _ output: Output) throws {
        if isJSON {
            var answer = ByteBuffer()
            refusal.appendAnswer(requestID: place, to: &answer)
            return try output.line(String(decoding: answer.bytes, as: UTF8.self))
        }
        let offset = refusal.byteOffset.map { " at byte \($0)" } ?? ""
        try output.line("\(place): refused: \(refusal.code.rawValue) (\(refusal.detail)\(offset))")
    }

    private func say(_ verdict: borrowing BatchVerdict, _ place: String, _ output: Output) throws {
        if isJSON {
            var answer = ByteBuffer()
            verdict.appendAnswer(requestID: place, to: &answer)
            return try output.line(String(decoding: answer.bytes, as: UTF8.self))
        }
        let isBatch = verdict.events.count > 1
        for (index, event) in verdict.events.enumerated() {
            let place = isBatch ? "\(place): events[\(index)]" : place
            let id = event.id.isEmpty ? "" : " \(verdict.string(event.id))"
            let detail = TextTable.printable(verdict.string(event.detail), limit: 200)
            switch event.outcome {
            case .accepted: break
            case .quarantined: try output.line("\(place)\(id): set aside: \(event.code.text)")
            case .rejected:
                try output.line("\(place)\(id): refused: \(event.code.text)\(detail.isEmpty ? "" : " (\(detail))")")
            }
            guard event.outcome != .rejected else { continue }
            if event.isClamped { try output.line("\(place)\(id): its time would be corrected") }
            if event.removedCount > 0 {
                let first = Int(event.firstRemoved)
                let names = verdict.removedNames[first..<first + Int(event.removedCount)].map { span in
                    TextTable.printable(verdict.string(span), limit: 100)
                }
                try output.line("\(place)\(id): without \(names.joined(separator: ", "))")
            }
        }
    }
}
