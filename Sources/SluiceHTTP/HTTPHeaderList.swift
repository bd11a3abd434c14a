// SPDX-License-Identifier: Apache-2.0
internal import CSluiceCurl

/// The header fields of a request, made once and shared by all requests that look alike.
///
/// `@unchecked Sendable`: the C list is built in `init` and only read afterwards, also by libcurl.
package final class HTTPHeaderList: @unchecked Sendable {
    let list: UnsafeMutablePointer<curl_slist>?

    package static let none = HTTPHeaderList([])
    package static let json = HTTPHeaderList([("Content-Type", "application/json")])

    /// Makes a list; always added are an absent `Expect`, so that a body is sent without waiting for a 100, and the
    /// wish for answers without a content coding.
    package init(_ fields: [(name: String, value: String)]) {
        var list = curl_slist_append(nil, "Expect:")
        list = curl_slist_append(list, "Accept-Encoding: identity")
        for (name, value) in fields {
            let line = value.isEmpty ? "\(name);" : "\(name): \(value)"
            precondition(
                line.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f },
                "a header field must not hold control characters"
            )
            list = curl_slist_append(list, line)
        }
        self.list = list
    }

    deinit { curl_slist_free_all(list) }
}
