// SPDX-License-Identifier: Apache-2.0
internal import SluiceHTTP
internal import SluiceJSON
internal import SluiceSystem

/// Reads the body of a success, whose form GraphJSON does not document, for signs that it is none.
///
/// * An HTML page (markup at its start, or anywhere under an HTML label) came from something else, such as a portal.
/// * A body that claims or begins to be JSON and is not, one with a content coding, or one above the size cap says
///   nothing: unknown.
/// * JSON refuses when it is `false` or `0`; when it has `success` or `ok` that is false; when a member `error`,
///   `errors`, `failures`, `failed…` or `rejected…` holds anything; or when an element of it, of `items` or of
///   `results` has such a member or a `status` of 400 or more. Which events are meant is not read from there.
/// * 207 without readable JSON refuses too: it means that outcomes differ.
/// * Everything else, also an empty body, is a success.
final class AnswerBody {
    enum Sign: Hashable {
        case plain
        case refuses
        case unreadable(String)
        case page
    }

    private let parser = JSONParser(maximumBytes: 1 << 20)
    private var scratch = ByteBuffer()

    func judge(_ answer: HTTPAnswer) -> Sign {
        let label = answer.contentType.map { Array($0.utf8) } ?? []
        let start = answer.body.first { $0 > 0x20 && $0 != 0xef && $0 != 0xbb && $0 != 0xbf }
        if answer.contentCoding == nil {
            let isMarkup = start == UInt8(ascii: "<")
            if isMarkup || (label.contains(word: "html") && answer.body.contains(UInt8(ascii: "<"))) { return .page }
        }
        if answer.contentCoding != nil { return .unreadable("with a content coding that was not asked for") }
        if answer.bodyWasCut { return .unreadable("with a body above the size limit") }
        guard let start else { return answer.status == 207 ? .refuses : .plain }
        let claimsJSON = label.contains(word: "json") || start == UInt8(ascii: "{") || start == UInt8(ascii: "[")
        return judge(json: answer.body) ?? (answer.status == 207 ? .refuses : claimsJSON ? Self.notJSON : .plain)
    }

    private static let notJSON = Sign.unreadable("with a body that should be JSON and is not")

    private func judge(json body: [UInt8]) -> Sign? {
        scratch.removeAll()
        scratch.append(body)
        do throws(JSONError) {
            let document = try parser.parse(scratch.bytes)
            return refuses(document) ? .refuses : .plain
        } catch {
            return nil
        }
    }

    private func refuses(_ document: JSONDocument) -> Bool {
        switch document[0].kind {
        case .object: refuses(document, object: 0, isElement: false)
        case .array: anyRefuses(document, array: 0)
        case .false: true
        case .integer: document.integer(document[0]) == 0
        default: false
        }
    }

    private func anyRefuses(_ document: JSONDocument, array: Int) -> Bool {
        document.elements(of: array).contains { refuses(document, object: $0, isElement: true) }
    }

    private func refuses(_ document: JSONDocument, object: Int, isElement: Bool) -> Bool {
        for (key, value) in document.members(of: object) {
            let name = document.text(document[key])
            let token = document[value]
            if name.isOne(of: "error", "errors", "failures") || name.hasPrefix("failed") || name.hasPrefix("rejected") {
                if holdsSomething(document, token) { return true }
            } else if name.isOne(of: "success", "ok") {
                if token.kind == .false { return true }
            } else if isElement && name.isOne(of: "status") {
                if let status = document.integer(token), status >= 400 { return true }
            } else if !isElement && name.isOne(of: "items", "results") {
                if anyRefuses(document, array: value) { return true }
            }
        }
        return false
    }

    private func holdsSomething(_ document: JSONDocument, _ token: JSONToken) -> Bool {
        switch token.kind {
        case .null, .false: false
        case .true: true
        case .string: token.length > 0
        case .integer, .number: document.integer(token) != 0
        case .object, .array: !document.raw(token).dropFirst().dropLast().allSatisfy { $0 <= 0x20 }
        }
    }
}

extension [UInt8] {
    /// Whether a word, given in small letters, stands somewhere in any case.
    fileprivate func contains(word: StaticString) -> Bool {
        let length = word.utf8CodeUnitCount
        guard count >= length else { return false }
        return (0...(count - length)).contains { start in
            (0..<length).allSatisfy { self[start + $0] | 0x20 == word.utf8Start[$0] }
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func isOne(of names: StaticString...) -> Bool {
        names.contains { $0.utf8CodeUnitCount == count && hasPrefix($0) }
    }

    fileprivate func hasPrefix(_ text: StaticString) -> Bool {
        starts(with: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
