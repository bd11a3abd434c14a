// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceGraphJSON
import SluiceHTTP
import SluiceSpool
import SluiceSystem

/// `sluice-relay check`: everything that can be wrong before the first event is.
struct CheckCommand: Command {
    static let abstract = "Check configuration, key, spool rights and the way to GraphJSON."
    static let usage = "[--send-test-event] [--collection NAME] [options]"
    static let help = """
        Reads configuration and key, works in the spool as a relay would, and asks the destination for an answer. No
        event of the spool is touched.

        Options:
        \(HelpText.table([
            (
                "--send-test-event",
                """
                Post one event, sluice_test, in the form that graphjson.bulk names: the answer tells whether the server \
                takes that form and the key.
                """
            ), ("--collection NAME", "The collection of that event. Default: endpoint.collection."),
        ]))
        \(ConfigurationSource.help(RelaySetup.settings))

        Exit codes:
          0   all is well
          69  the destination can't be reached, or refuses the key or the request
          78  the configuration, the key or the spool's rights are wrong

        Examples:
          sluice-relay check
          sluice-relay check --send-test-event --collection rehearsal
        """

    private let source: ConfigurationSource
    private let sendsTestEvent: Bool
    private let collection: String?

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        sendsTestEvent = try arguments.flag("--send-test-event")
        collection = try arguments.option("--collection")
        source = try ConfigurationSource(
            &arguments,
            settings: RelaySetup.settings,
            environment: context.environment
        )
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let setup = try RelaySetup(source, context)
        try context.output.line("configuration  ok")
        let key = try APIKey.read(setup.configuration, environment: context.environment)
        try context.output.line("API key        ok, from \(key.source)")
        let folder = try setup.openSpool()
        try context.output.line("spool          ok, \(folder.root)")
        let request = sendsTestEvent ? testEvent(setup, key) : HTTPRequest.get(setup.target.base)
        let completion = HTTPClient.exchange(request, setup.client)
        let verdict = AnswerClassifier(apiKey: key.secret.text).classify(completion)
        let (isWell, text) = sendsTestEvent ? judgeEvent(verdict, setup) : judgeRoad(completion, verdict)
        try context.output.line("destination    \(text)")
        return isWell ? .ok : .unavailable
    }

    /// Any answer shows that name, route and certificate are right.
    private func judgeRoad(_ completion: HTTPCompletion, _ verdict: Verdict) -> (Bool, String) {
        if case .answer(let answer) = completion.result {
            return (true, "ok, answers (HTTP \(answer.status)); --send-test-event checks key and request form")
        }
        return (false, "not reached: \(verdict.summary)")
    }

    private func judgeEvent(_ verdict: Verdict, _ setup: RelaySetup) -> (Bool, String) {
        let form = setup.bulk.rawValue
        if verdict.disposition == .delivered { return (true, "ok, takes events in the form \(form)") }
        let excerpt = verdict.excerpt.isEmpty ? "" : ": \(verdict.excerpt)"
        return (false, "did not take the test event in the form \(form): \(verdict.summary)\(excerpt)")
    }

    private func testEvent(_ setup: RelaySetup, _ key: APIKey) -> HTTPRequest {
        let now = SystemClock.system.wallSeconds
        let number = UInt64.random(in: .min ... .max)
        let event = #"{\"event\":\"sluice_test\",\"event_id\":\"sluice-test-\#(number)\",\"occurred_at\":\#(now)}"#
        let name = Array((collection ?? setup.configuration.endpoint.collection).utf8)
        var body = ByteBuffer(capacity: 1024)
        var event8 = event
        event8.withUTF8 { text in
            let events = [UnsafeRawBufferPointer(text)]
            events.withUnsafeBufferPointer { events in
                [now].withUnsafeBufferPointer { times in
                    name.withUnsafeBytes { name in
                        RequestEncoder(shape: setup.bulk, apiKey: key.secret.text)
                            .encode(collection: name, timestamps: times, events: events, into: &body)
                    }
                }
            }
        }
        let headers = HTTPHeaderList([("Content-Type", "application/json")])
        return .post(setup.target.url(for: setup.bulk), headers: headers, body: RequestBody(body))
    }
}
