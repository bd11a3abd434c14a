// SPDX-License-Identifier: Apache-2.0
internal import CSluiceJSON
internal import SluiceSystem

/// Parses JSON into flat tokens with simdjson; it reuses its memory, so one per thread.
///
/// UTF-8, grammar, escapes, surrogate pairs and number ranges are validated. Numbers keep their source text, duplicate
/// keys stay visible, and nothing is copied out of the source except the unescaped text of strings.
package final class JSONParser {
    /// Longest document in bytes.
    package let maximumBytes: Int
    /// Most nested brackets.
    package let maximumDepth: Int
    private let handle: OpaquePointer

    /// Makes a parser; memory grows with the documents it sees, about 14 bytes for each of theirs.
    ///
    /// - Parameters:
    ///   - maximumBytes: longest document, at most 1 GiB.
    ///   - maximumDepth: most nested brackets, at most 1024.
    package init(maximumBytes: Int, maximumDepth: Int = 64) {
        precondition(maximumBytes > 0 && maximumBytes <= 1 << 30, "a parser takes documents of 1 byte to 1 GiB")
        precondition(maximumDepth > 0 && maximumDepth <= 1024, "a parser takes 1 to 1024 nested brackets")
        precondition(MemoryLayout<JSONToken>.stride == MemoryLayout<sluice_json_token>.stride, "layouts differ")
        guard let handle = sluice_json_parser_create(maximumBytes, maximumDepth) else {
            fatalError("out of memory for a JSON parser")
        }
        self.handle = handle
        self.maximumBytes = maximumBytes
        self.maximumDepth = maximumDepth
    }

    deinit { sluice_json_parser_destroy(handle) }

    /// Parses a whole document.
    ///
    /// - Parameter bytes: must be followed by `ByteBuffer.padding` readable bytes of any value.
    /// - Returns: a view that is valid until the next parse.
    /// - Throws: why the bytes are refused, with the offset of the first fault where that is known.
    package func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONDocument {
        var found = sluice_json_document()
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let status = sluice_json_parse(handle, start, bytes.count, &found)
        guard status == SLUICE_JSON_OK, let tokens = found.tokens, let texts = found.texts else {
            throw JSONFaultScan.locate(code(of: status), in: bytes, maximumDepth: maximumDepth)
        }
        return JSONDocument(
            source: bytes,
            tokens: UnsafeRawPointer(tokens).assumingMemoryBound(to: JSONToken.self),
            count: found.count,
            texts: UnsafeRawPointer(texts),
            parser: self
        )
    }

    private func code(of status: sluice_json_status) -> JSONError.Code {
        switch status {
        case SLUICE_JSON_EMPTY: .empty
        case SLUICE_JSON_TOO_LARGE: .tooLarge
        case SLUICE_JSON_OUT_OF_MEMORY: .outOfMemory
        case SLUICE_JSON_TOO_DEEP: .tooDeep
        case SLUICE_JSON_INVALID_STRING: .invalidString
        case SLUICE_JSON_INVALID_NUMBER: .invalidNumber
        case SLUICE_JSON_INVALID_UTF8: .invalidUTF8
        case SLUICE_JSON_CONTROL_CHARACTER: .controlCharacter
        case SLUICE_JSON_UNCLOSED_STRING: .unclosedString
        default: .syntax
        }
    }
}
