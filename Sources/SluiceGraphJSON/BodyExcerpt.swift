// SPDX-License-Identifier: Apache-2.0

/// The beginning of an answer's body, harmless wherever it is shown.
package enum BodyExcerpt {
    /// Most bytes of an excerpt.
    package static let maximumBytes = 200

    /// Cuts and cleans a body: UTF-8 repaired, white space joined, control characters as `\u{…}`, `< > &` as entities.
    ///
    /// The secret is replaced by `***` wherever it stands, before anything is cut.
    package static func text(_ body: [UInt8], hiding secret: String) -> String {
        // Enough for the longest excerpt even when the secret stands across its end.
        let source = Array(body.prefix(4 * maximumBytes + secret.utf8.count))
        var text = ""
        var isAfterSpace = true
        for scalar in String(decoding: masked(source, Array(secret.utf8)), as: UTF8.self).unicodeScalars {
            let isSpace = scalar == " " || ("\t"..."\r").contains(scalar)
            if isSpace && isAfterSpace { continue }
            let piece = isSpace ? " " : escaped(scalar)
            if text.utf8.count + piece.utf8.count > maximumBytes { break }
            text += piece
            isAfterSpace = isSpace
        }
        if text.hasSuffix(" ") { text.removeLast() }
        return text
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "<": "&lt;"
        case ">": "&gt;"
        case "&": "&amp;"
        default:
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
                "\\u{\(String(scalar.value, radix: 16))}"
            default: String(Character(scalar))
            }
        }
    }

    private static func masked(_ body: [UInt8], _ secret: [UInt8]) -> [UInt8] {
        if secret.isEmpty { return body }
        var result: [UInt8] = []
        var index = 0
        while index < body.count {
            let rest = body[index...]
            // A secret that the cut of the source ends in the middle of is one, too.
            if rest.starts(with: secret) || (rest.count < secret.count && secret.starts(with: rest) && rest.count >= 4)
            {
                result += Array("***".utf8)
                index += min(secret.count, rest.count)
            } else {
                result.append(body[index])
                index += 1
            }
        }
        return result
    }
}
