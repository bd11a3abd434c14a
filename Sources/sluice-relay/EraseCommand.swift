// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// `sluice-relay erase`: forgets a person.
struct EraseCommand: Command {
    static let abstract = "Forget a person: drop the records that wait, remove those in quarantine, say what is left."
    static let usage = "--user-id ID | --anonymous-id ID [--dry-run] [OPTION…]"
    static let help = """
        Lists the person for all relays of the spool, as a hash; from then on none of them sends or quarantines a record
        of that person that was received up to this second. Records that arrive later are new and are sent. Then removes
        the person's records from quarantine, also from the bytes of damaged segments as far as those can be read. All of
        them are counted as erased, each once. Killed at any moment, run it again: it goes on where it was. Should the
        clock have gone back, "this second" is that of the ledger's newest line.

        A user is found in user_id, whether a token proved it or the app only claimed it, byte for byte; an anonymous id
        in anonymous_id. account_id is no person and is not searched, nor are the values of properties. Events from before
        a sign-in carry the anonymous id alone: erase that too.

        It ends by saying what it could not reach: what GraphJSON has, what a request under way may still bring there,
        files that a relay is busy with (a relay looks through them when it is done), bytes that cannot be decompressed.
        The duplicate window and the ledger hold no ids, logs neither; copies that others made are theirs to clean.

        Options:
        \(HelpText.table([
            ("--user-id ID", "The user; may be repeated. - reads ids from standard input, one a line."),
            ("--anonymous-id ID", "The anonymous id; may be repeated, or be read alike."),
            ("--dry-run", "Search and count; change nothing."),
            ("--yes", "Do not ask, also on a terminal. Without a terminal nothing is ever asked."),
            ("--json", "What was found and done as one JSON object."),
        ]))
        \(ConfigurationSource.help(SpoolReading.settings))

        An id on the command line can be seen by other users of this machine while it runs, and stays in the shell's
        history; standard input shows it to nobody.

        Examples:
          sluice-relay erase --user-id u-4711 --dry-run
          printf '%s\\n' u-4711 u-4712 | sluice-relay erase --user-id - --spool /var/lib/sluice/spool

        Exit codes: 0 done; 65 done, except that some bytes cannot be searched; 75 a relay is busy with some of it, or
        somebody else edits quarantine: run it again later; 78 there is no spool.
        """

    private static let maximumInputBytes = 16 << 20

    private let source: ConfigurationSource
    private let users: [String]
    private let anonymous: [String]
    private let isDryRun: Bool
    private let isSure: Bool
    private let isJSON: Bool

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        users = try arguments.options("--user-id")
        anonymous = try arguments.options("--anonymous-id")
        isDryRun = try arguments.flag("--dry-run")
        isSure = try arguments.flag("--yes")
        isJSON = try arguments.flag("--json")
        source = try ConfigurationSource(
            &arguments,
            settings: SpoolReading.settings,
            environment: context.environment
        )
        _ = try arguments.remaining()
        guard !users.isEmpty || !anonymous.isEmpty else { throw UsageError("--user-id or --anonymous-id is missing") }
        guard !(users + anonymous).contains("") else { throw UsageError("an id cannot be empty") }
        guard (users + anonymous).count(where: { $0 == "-" }) < 2 else {
            throw UsageError("standard input can be read only once")
        }
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let configuration = try source.load()
        let persons = try persons()
        let spool = try SpoolFolder.open(configuration.spool.path, create: false, role: isDryRun ? .reader : .relay)
        let ledger = try Ledger(in: spool)
        let eraser = Eraser(with: QuarantineEditor(in: spool, ledger: ledger))
        let bar = ProgressBar("erase", unit: "records searched")
        defer { bar.finish() }
        if !isDryRun && !isSure && Terminal.hasPerson {
            let found = try eraser.run(persons, isDryRun: true) { bar.update(done: $0, total: nil) }
            let count = ProgressText.counted(found.waiting + found.claimed + found.removed, "record")
            let who = ProgressText.counted(persons.count, "person")
            guard Terminal.confirms("erase \(count) of \(who)?") else {
                throw CommandError(.tryLater, "nothing was changed")
            }
        }
        let report = try eraser.run(persons, isDryRun: isDryRun) { bar.update(done: $0, total: nil) }
        bar.finish()
        if !isDryRun {
            try Operator.current(context.environment).note(
                "erase",
                records: report.removed + report.removedEarlier,
                selection: "users=\(persons.count { $0.kind == .user }) "
                    + "anonymous=\(persons.count { $0.kind == .anonymous }) "
                    + "until=\(CalendarTime.text(seconds: report.until)) waiting=\(report.waiting + report.claimed)",
                in: ledger,
                context.logger(configuration)
            )
        }
        let text = ErasureReport(report: report, persons: persons, isDryRun: isDryRun)
        try context.output.write(Array(((isJSON ? text.json : text.lines).joined(separator: "\n") + "\n").utf8))
        if !report.undecided.isEmpty || !report.busyFiles.isEmpty { return .tryLater }
        return report.unreachable.isEmpty ? .ok : .badData
    }

    private func persons() throws -> [Person] {
        var persons: [Person] = []
        for (kind, words) in [(Person.Kind.user, users), (.anonymous, anonymous)] {
            for word in words {
                let ids = word == "-" ? try Self.input() : [word]
                persons += ids.map { Person(kind, $0) }
            }
        }
        guard !persons.isEmpty else { throw CommandError(.usage, "standard input names nobody") }
        guard persons.count <= ErasureList.maximumEntries else {
            throw CommandError(.usage, "more than \(ErasureList.maximumEntries) persons at once")
        }
        return persons
    }

    /// The lines of standard input that are not empty.
    private static func input() throws -> [String] {
        let file = File(adopting: fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), path: "standard input")
        var buffer = ByteBuffer()
        while true {
            var count = 0
            var failure: SystemError?
            buffer.append(upTo: 64 << 10) { room in
                do throws(SystemError) {
                    count = try file.readSome(into: room)
                } catch {
                    failure = error
                }
                return count
            }
            if let failure { throw failure }
            if count == 0 { break }
            if buffer.count > maximumInputBytes { throw CommandError(.usage, "standard input is too long") }
        }
        return Lines(buffer.bytes).map { line in
            String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...], as: UTF8.self)
        }.filter { !$0.isEmpty }
    }
}
