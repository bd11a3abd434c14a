// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceJSON
import SluiceSpool
import SluiceSystem

/// Which records in quarantine a command is about, by what an operator knows of them.
struct QuarantineSelection {
    static let usage = "[SEGMENT…] [--reason R] [--event E] [--release V] [--since T] [OPTION…]"
    static let help = HelpText.table([
        ("SEGMENT…", "Only these quarantine files. Default: all."),
        ("--reason R", "Only records with this reason; may be repeated, as all of these."),
        ("--event E", "Only events of this name."),
        ("--release V", "Only events of this app_version."),
        ("--build N", "Only events of this build_number."),
        ("--id EVENT_ID", "Only the event with this id."),
        ("--user-id ID", "Only records of this user, proven or only claimed."),
        ("--anonymous-id ID", "Only records with this anonymous_id."),
        (
            "--since T",
            "Only records put into quarantine at or after T: 2026-11-30, 2026-11-30T06:19:03Z (a time without zone is UTC), or an age such as 90s, 15m, 12h, 7d."
        ),
        ("--until T", "Only records put into quarantine before T, written alike."),
    ])

    private let reasons: [[UInt8]]
    private let events: [[UInt8]]
    private let releases: [[UInt8]]
    private let builds: [[UInt8]]
    private let ids: [[UInt8]]
    private let persons: [Person]
    private let since: Int?
    private let until: Int?
    private let files: [SegmentName]

    init(_ arguments: inout Arguments, clock: SystemClock = .system) throws(UsageError) {
        reasons = try arguments.options("--reason").map { Array($0.utf8) }
        events = try arguments.options("--event").map { Array($0.utf8) }
        releases = try arguments.options("--release").map { Array($0.utf8) }
        builds = try arguments.options("--build").map { Array($0.utf8) }
        ids = try arguments.options("--id").map { Array($0.utf8) }
        persons =
            try arguments.options("--user-id").map { Person(.user, $0) }
            + arguments.options("--anonymous-id").map { Person(.anonymous, $0) }
        since = try Self.time("--since", &arguments, clock)
        until = try Self.time("--until", &arguments, clock)
        var files: [SegmentName] = []
        for word in try arguments.remaining("[SEGMENT…]") {
            let last = word.split(separator: "/").last.map { String($0) } ?? word
            guard let name = SegmentName(parsing: last) ?? SegmentName(sealedFileName: last) else {
                throw UsageError("\(word) is not the name of a quarantine file")
            }
            files.append(name)
        }
        self.files = files
    }

    /// Whether everything is meant.
    var isEverything: Bool {
        reasons.isEmpty && events.isEmpty && releases.isEmpty && builds.isEmpty && ids.isEmpty && persons.isEmpty
            && since == nil && until == nil && files.isEmpty
    }

    /// What was chosen, for the log: ids of events and persons only by their number.
    var summary: String {
        var parts: [String] = []
        for (name, values) in [("reason", reasons), ("event", events), ("release", releases), ("build", builds)] {
            for value in values.prefix(20) { parts.append("\(name)=\(String(decoding: value, as: UTF8.self))") }
        }
        for (name, count) in [("ids", ids.count), ("persons", persons.count), ("files", files.count)] where count > 0 {
            parts.append("\(name)=\(count)")
        }
        if let since { parts.append("since=\(CalendarTime.text(seconds: since))") }
        if let until { parts.append("until=\(CalendarTime.text(seconds: until))") }
        return parts.isEmpty ? "everything" : parts.joined(separator: " ")
    }

    /// The files that may hold such records, oldest first.
    func files(of folder: QuarantineFolder, _ book: LedgerBook) throws -> [QuarantineFolder.File] {
        let all = try folder.files(book)
        for name in files where !all.contains(where: { $0.name == name }) {
            throw CommandError(.badData, "there is no quarantine file \(name); see: sluice-relay quarantine list")
        }
        return files.isEmpty ? all : all.filter { files.contains($0.name) }
    }

    func matches(_ item: QuarantineItem) -> Bool {
        if let since, item.quarantinedAt < since { return false }
        if let until, item.quarantinedAt >= until { return false }
        return matches(reasons, item.document.value(of: "reason", in: 0), item)
            && matches(events, item.envelopeMember("event"), item)
            && matches(releases, item.envelopeMember("app_version"), item)
            && matches(builds, item.envelopeMember("build_number"), item)
            && matches(ids, item.envelopeMember("event_id"), item)
            && matchesPerson(item)
    }

    private func matchesPerson(_ item: QuarantineItem) -> Bool {
        if persons.isEmpty { return true }
        guard let record = item.recordToken else { return false }
        return persons.contains { $0.isMeant(by: item.document, record: record) }
    }

    /// Whether the text at a token is one of `wanted`, or anything is wanted.
    private func matches(_ wanted: [[UInt8]], _ token: Int?, _ item: QuarantineItem) -> Bool {
        if wanted.isEmpty { return true }
        guard let token, item.document[token].kind == .string else { return false }
        let text = item.document.text(item.document[token])
        return wanted.contains { text.elementsEqual($0) }
    }

    private static func time(
        _ name: String,
        _ arguments: inout Arguments,
        _ clock: SystemClock
    ) throws(UsageError) -> Int? {
        guard let text = try arguments.option(name) else { return nil }
        if let seconds = CalendarTime.seconds(parsing: text) { return seconds }
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        if let last = text.last, let unit = units[last], let count = Int(text.dropLast()),
            (0...100_000_000).contains(count)
        {
            return clock.wallSeconds - count * unit
        }
        throw UsageError("\(name) takes a time such as 2026-11-30T06:19:03Z, or an age such as 12h, not \(text)")
    }
}

extension QuarantineItem {
    /// Token of a member of the record's envelope; nil for damage and where there is none.
    func envelopeMember(_ name: StaticString) -> Int? {
        guard let recordToken, let envelope = document.value(of: "envelope", in: recordToken) else { return nil }
        return document.value(of: name, in: envelope)
    }

    /// The text of a member of the envelope; empty where there is none.
    func envelopeText(_ name: StaticString) -> String {
        guard let token = envelopeMember(name), document[token].kind == .string else { return "" }
        return document.string(document[token])
    }
}
