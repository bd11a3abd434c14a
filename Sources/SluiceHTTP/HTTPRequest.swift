// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// One request as `HTTPClient` sends it.
package struct HTTPRequest: Sendable {
    package enum Method: Sendable {
        case get
        case post
    }

    package var method: Method
    package var url: String
    package var headers: HTTPHeaderList
    /// Sent as it is, without a copy; nil sends an empty body.
    package var body: RequestBody?

    package init(method: Method, url: String, headers: HTTPHeaderList, body: RequestBody? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    package static func get(_ url: String, headers: HTTPHeaderList = .none) -> HTTPRequest {
        HTTPRequest(method: .get, url: url, headers: headers)
    }

    package static func post(_ url: String, headers: HTTPHeaderList, body: RequestBody) -> HTTPRequest {
        HTTPRequest(method: .post, url: url, headers: headers, body: body)
    }
}

/// Bytes that were written once and may be sent any number of times; a retry is byte for byte what was sent before.
///
/// `@unchecked Sendable`: the buffer moves in and is never changed afterwards, so every thread only reads it, and the
/// last reference frees it.
package final class RequestBody: @unchecked Sendable {
    private let buffer: ByteBuffer

    package init(_ buffer: consuming ByteBuffer) { self.buffer = buffer }

    package convenience init(_ text: String) {
        var buffer = ByteBuffer(capacity: text.utf8.count)
        buffer.append(text)
        self.init(buffer)
    }

    package var count: Int { buffer.count }

    /// The content; valid as long as this object lives.
    package var bytes: UnsafeRawBufferPointer { buffer.bytes }
}
