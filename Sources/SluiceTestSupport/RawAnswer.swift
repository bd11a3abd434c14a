// SPDX-License-Identifier: Apache-2.0

/// An HTTP answer as it came over the wire.
package struct RawAnswer: Sendable {
    package var status: Int
    package var head: String
    package var body: String

    /// The value of a header field.
    package func header(_ name: String) -> String? {
        for line in head.split(separator: "\r\n").dropFirst() {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else {
                continue
            }
            return String(line[line.index(after: colon)...].drop { $0 == " " })
        }
        return nil
    }

    /// A string member of a JSON body without escapes, such as `code`.
    package func member(_ name: String) -> String? {
        guard let start = body.firstRange(of: "\"\(name)\":\"")?.upperBound else { return nil }
        return body[start...].firstIndex(of: "\"").map { String(body[start..<$0]) }
    }

    /// All answers in what a connection sent; 100 Continue is left out.
    package static func all(_ bytes: [UInt8]) -> [RawAnswer] {
        var answers: [RawAnswer] = []
        var rest = bytes[...]
        while let end = headEnd(rest) {
            let head = String(decoding: rest[rest.startIndex..<end - 4], as: UTF8.self)
            let status = Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0
            rest = rest[end...]
            if status == 100 { continue }
            var answer = RawAnswer(status: status, head: head, body: "")
            let length = answer.header("Content-Length").flatMap { Int($0) } ?? rest.count
            answer.body = String(decoding: rest.prefix(length), as: UTF8.self)
            rest = rest.dropFirst(length)
            answers.append(answer)
        }
        return answers
    }

    private static func headEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in bytes.startIndex...bytes.endIndex - 4
        where bytes[index] == 13 && bytes[index + 1] == 10 && bytes[index + 2] == 13 && bytes[index + 3] == 10 {
            return index + 4
        }
        return nil
    }
}
