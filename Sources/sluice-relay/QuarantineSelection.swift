// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceJSON
import SluiceSpool
import SluiceSystem

/// Which records in quarantine a command is about, by what an operator knows of them.
struct QuarantineSelection {
    static let usage = "[SEGMENT…] [--reason R] [--event E] [--id EVENT_ID] [--since T] [OPTION…]"
    static let help = HelpText.table([
        ("SEGMENT…", "Only these quarantine files. Default: all."),
        ("--reason R", "Only records with this reason; may be repeated."),
        ("--event E", "Only events of this name; may be repeated."),
        ("--id EVENT_ID", "Only events with this id; may be repeated."),
        ("--release V", "Only events of this app_version; may be repeated."),
        (
            "--since T",
            "Only records put into quarantine at or after T: 2026-11-30, 2026-11-30T06:19:03Z (a time without zone is UTC), or an age such as 90s, 15m, 12h, 7d."
        ),
        ("--until T", "Only records put into quarantine before T, written alike."),
    ])

    private let reasons: [[UInt8]]
    private let events: [[UInt8]]
    private let eventIDs: [[UInt8]]
    private let releases: [[UInt8]]
    private let since: Int?
    private let until: Int?
    private let files: [SegmentName]

    init(_ arguments: inout Arguments, clock: SystemClock = .system) throws(UsageError) {
        reasons = try arguments.options("--reason").map { Array($0.utf8) }
        events = try arguments.options("--event").map { Array($0.utf8) }
        eventIDs = try arguments.options("--id").map { Array($0.utf8) }
        releases = try arguments.options("--release").map { Array($0.utf8) }
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
        reasons.isEmpty && events.isEmpty && eventIDs.isEmpty && releases.isEmpty && since == nil && until == nil
            && files.isEmpty
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
            && matches(eventIDs, item.envelopeMember("event_id"), item)
            && matches(releases, item.envelopeMember("app_version"), item)
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
