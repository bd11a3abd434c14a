// SPDX-License-Identifier: Apache-2.0
package import SluiceEvents

/// What became of an import's events, and where the refused ones stand.
package struct ImportTally {
    /// A line that was refused, or an event of it.
    package struct Problem: Hashable, Sendable, CustomStringConvertible {
        package var file: String
        /// From 1.
        package var line: Int
        /// An event's place in the line's batch; nil for a line that holds one event, or was refused as a whole.
        package var index: Int?
        package var code: String
        /// Which field, or where; never a value.
        package var detail: String

        package var description: String {
            let place = index.map { ": events[\($0)]" } ?? ""
            return "\(file):\(line)\(place): \(code)" + (detail.isEmpty || detail == code ? "" : " (\(detail))")
        }
    }

    /// Problems beyond these are only counted.
    package static let maximumProblems = 20

    /// Events that will be sent.
    package private(set) var accepted = 0
    /// Events that wait for a replay, by reason.
    package private(set) var quarantined: [String: Int] = [:]
    /// Events and lines that were refused, by code.
    package private(set) var rejected: [String: Int] = [:]
    /// Fields, experiments and properties that accepted events lost.
    package private(set) var removedFields = 0
    /// Events whose timestamp the clock policy moved.
    package private(set) var clamped = 0
    /// The first refusals.
    package private(set) var problems: [Problem] = []

    package init() {}

    package var quarantinedCount: Int { quarantined.values.reduce(0, +) }
    package var rejectedCount: Int { rejected.values.reduce(0, +) }
    package var total: Int { accepted + quarantinedCount + rejectedCount }

    /// Adds the verdicts about one line.
    package mutating func add(_ verdict: borrowing BatchVerdict, file: String, line: Int) {
        accepted += verdict.accepted
        removedFields += verdict.removedNames.count
        clamped += verdict.clamped
        guard verdict.rejected + verdict.quarantined > 0 else { return }
        for (index, event) in verdict.events.enumerated() {
            let code = "\(event.code.text)"
            switch event.outcome {
            case .accepted: break
            case .quarantined: quarantined[code, default: 0] += 1
            case .rejected:
                let place = verdict.events.count > 1 ? index : nil
                reject(code, verdict.string(event.detail), file, line, place)
            }
        }
    }

    /// Adds a line that was refused as a whole.
    package mutating func add(_ refusal: BatchRefusal, file: String, line: Int) {
        let offset = refusal.byteOffset.map { " at byte \($0)" } ?? ""
        reject(refusal.code.rawValue, refusal.detail + offset, file, line, nil)
    }

    private mutating func reject(_ code: String, _ detail: String, _ file: String, _ line: Int, _ index: Int?) {
        rejected[code, default: 0] += 1
        guard problems.count < Self.maximumProblems else { return }
        problems.append(Problem(file: file, line: line, index: index, code: code, detail: detail))
    }

    /// `accepted 31103 (set aside 12: occurred_at_too_old 12), rejected 3: invalid_event_id 1, unsupported_event 2`.
    package var summary: String {
        var text = "accepted \(accepted + quarantinedCount)"
        var notes: [String] = []
        if quarantinedCount > 0 { notes.append("set aside \(quarantinedCount): \(Self.list(quarantined))") }
        if clamped > 0 { notes.append("timestamp corrected \(clamped)") }
        if removedFields > 0 { notes.append("fields removed \(removedFields)") }
        if !notes.isEmpty { text += " (\(notes.joined(separator: "; ")))" }
        text += ", rejected \(rejectedCount)"
        if rejectedCount > 0 { text += ": \(Self.list(rejected))" }
        return text
    }

    private static func list(_ counts: [String: Int]) -> String {
        counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
}
