// SPDX-License-Identifier: Apache-2.0
internal import SluiceGraphJSON
internal import SluiceHTTP
internal import SluiceSystem
internal import SluiceTestSupport

/// Whatever answers, only a success counts as one, waits are bounded, and what is shown of a body is harmless.
///
/// The input is a head, line by line up to an empty one, and a body.
final class AnswerFuzz {
    private static let key = "s3cret-api-key"

    private let classifier: AnswerClassifier

    init() {
        classifier = AnswerClassifier(
            apiKey: Self.key,
            clock: ManualClock(wallMilliseconds: Int64(FuzzRules.receivedAt) * 1000).clock
        )
    }

    func check(_ input: UnsafeRawBufferPointer) throws {
        var head = HTTPAnswerHead()
        var rest = input
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.count
            head.take(UnsafeRawBufferPointer(rebasing: rest[..<end]))
            rest = rest.from(end)
            if head.isComplete { break }
        }
        try hold((0...999).contains(head.status), "a status of more than three digits")
        for value in [head.retryAfter, head.contentType, head.contentCoding].compactMap({ $0 }) {
            try hold(value.utf8.count <= 3 * 256, "a field's value without bound")
        }
        if let value = head.retryAfter { try checkRetryAfter(value) }
        guard head.isComplete else { return }
        for isCut in [false, true] { try checkAnswer(head, Array(rest), isCut: isCut) }
    }

    private func checkAnswer(_ head: HTTPAnswerHead, _ body: [UInt8], isCut: Bool) throws {
        let answer = HTTPAnswer(
            status: head.status,
            retryAfter: head.retryAfter,
            contentType: head.contentType,
            contentCoding: head.contentCoding,
            body: body,
            bodyWasCut: isCut
        )
        let verdict = classifier.classify(HTTPCompletion(tag: 0, result: .answer(answer)))
        try hold(verdict.status == head.status, "the verdict's status")
        try hold(!verdict.summary.utf8.contains { $0 < 0x20 }, "a summary of several lines")
        try checkExcerpt(verdict.excerpt, body)
        switch verdict.disposition {
        case .delivered:
            try hold(head.status / 100 == 2, "\(head.status) counts as delivered")
            try hold(!isCut && head.contentCoding == nil, "a body that nobody read counts as delivered")
            try hold(!Self.reportsError(body), "an error counts as delivered")
        case .retry(let after, let closesGate):
            if let after { try hold(after > .zero && after <= .seconds(3600), "a wait of \(after)") }
            if after != nil || head.status == 429 { try hold(closesGate, "a wish to wait that leaves the gate open") }
        case .split: try hold(head.status == 413, "\(head.status) halves a request")
        case .rejected:
            try hold([400, 409, 422].contains(head.status) || head.status / 100 == 2, "\(head.status) rejects records")
        case .halt:
            try hold((200...499).contains(head.status) && head.status != 429, "\(head.status) halts delivery")
        }
    }

    private static func reportsError(_ body: [UInt8]) -> Bool {
        guard let plain = PlainJSON(body) else { return false }
        if case .boolean(false) = plain { return true }
        switch plain["error"] {
        case .string(let text): return !text.isEmpty
        case .boolean(let isTrue): return isTrue
        case .object(let members): return !members.isEmpty
        default: return false
        }
    }

    private func checkExcerpt(_ excerpt: String, _ body: [UInt8]) throws {
        try hold(excerpt.utf8.count <= BodyExcerpt.maximumBytes, "an excerpt of \(excerpt.utf8.count) bytes")
        try hold(!excerpt.contains(Self.key), "an excerpt shows the key")
        for scalar in excerpt.unicodeScalars {
            try hold(
                scalar.value >= 0x20 && scalar.value != 0x7F && scalar != "<" && scalar != ">",
                "a dangerous excerpt"
            )
        }
        guard !String(decoding: body, as: UTF8.self).contains(Self.key.dropLast(6)) else { return }
        // The same with the key at every place where an excerpt may be cut.
        for place in [0, body.count / 2, body.count] {
            let secret = body[..<place] + Array(Self.key.utf8) + body[place...]
            let text = BodyExcerpt.text(Array(secret), hiding: Self.key)
            try hold(!text.contains(Self.key.dropLast(6)), "an excerpt shows the beginning of the key")
        }
    }

    private func checkRetryAfter(_ value: String) throws {
        let now = FuzzRules.receivedAt
        let wait = RetryAfter.duration(value, now: now)
        let later = RetryAfter.duration(value, now: now + 1)
        if let wait {
            try hold(wait > .zero && wait <= RetryAfter.longest, "a wait of \(wait)")
            try hold(later ?? .zero <= wait, "the wait grows")
            try hold(later == wait || wait - (later ?? .zero) <= .seconds(1), "the wait jumps")
        } else {
            try hold(later == nil, "a wait that begins later")
        }
    }
}
