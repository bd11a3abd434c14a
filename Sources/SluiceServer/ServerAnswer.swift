// SPDX-License-Identifier: Apache-2.0
internal import CSluiceMicroHTTPD

/// An answer, made once; the same object may answer any number of requests, also at once.
///
/// `@unchecked Sendable`: the response is built in `init` and only read afterwards; libmicrohttpd counts its users
/// under a lock.
package final class ServerAnswer: @unchecked Sendable {
    package let status: Int
    let response: OpaquePointer

    /// Makes an answer; the bytes are copied.
    ///
    /// Names and values of `headers` must be without control characters; `closes` ends the connection after the answer.
    package init(
        status: Int,
        contentType: String? = nil,
        bytes: UnsafeRawBufferPointer,
        headers: [(name: String, value: String)] = [],
        closes: Bool = false
    ) {
        self.status = status
        let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
        guard let response = MHD_create_response_from_buffer(bytes.count, start, .RESPMEM_MUST_COPY) else {
            fatalError("out of memory for an answer")
        }
        self.response = response
        if let contentType { add("Content-Type", contentType) }
        for (name, value) in headers { add(name, value) }
        if closes { add("Connection", "close") }
    }

    package convenience init(
        status: Int,
        contentType: String? = nil,
        body: String = "",
        headers: [(name: String, value: String)] = [],
        closes: Bool = false
    ) {
        let bytes = Array(body.utf8)
        self.init(status: status, contentType: contentType, bytes: bytes, headers: headers, closes: closes)
    }

    package convenience init(
        status: Int,
        contentType: String? = nil,
        bytes: [UInt8],
        headers: [(name: String, value: String)] = [],
        closes: Bool = false
    ) {
        // A zero-sized buffer may have no address; libmicrohttpd wants one.
        let room = bytes.isEmpty ? [0] : bytes
        self.init(status: status, contentType: contentType, room: room, count: bytes.count, headers, closes)
    }

    private convenience init(
        status: Int,
        contentType: String?,
        room: [UInt8],
        count: Int,
        _ headers: [(name: String, value: String)],
        _ closes: Bool
    ) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: room.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: room)
        let bytes = UnsafeRawBufferPointer(start: copy.baseAddress, count: count)
        self.init(status: status, contentType: contentType, bytes: bytes, headers: headers, closes: closes)
    }

    private func add(_ name: String, _ value: String) {
        let isAdded = MHD_add_response_header(response, name, value) == .YES
        precondition(isAdded, "a header field that cannot be sent: \(name)")
    }

    deinit { MHD_destroy_response(response) }
}
