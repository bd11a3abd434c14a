// SPDX-License-Identifier: Apache-2.0
internal import CSluiceMicroHTTPD
internal import Glibc

extension ServerRequest {
    /// Whether the method is exactly that: methods have a case.
    package func isMethod(_ name: StaticString) -> Bool { methodText.map { $0.equals(name) } ?? false }

    package var method: UnsafeRawBufferPointer {
        methodText.map { $0.bytes } ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// The path as it was sent, escapes and all, without the query; of an absolute URL only its path.
    package var path: UnsafeRawBufferPointer {
        guard let url else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        if url[0] == UInt8(ascii: "/") { return url.bytes }
        for scheme in ["http://", "https://"] as [StaticString] {
            guard
                strncasecmp(
                    url,
                    UnsafeRawPointer(scheme.utf8Start).assumingMemoryBound(to: CChar.self),
                    scheme.utf8CodeUnitCount
                ) == 0
            else { continue }
            guard let slash = strchr(url + scheme.utf8CodeUnitCount, Int32(UInt8(ascii: "/"))) else { break }
            return UnsafePointer(slash).bytes
        }
        return url.bytes
    }

    package func isPath(_ text: StaticString) -> Bool {
        path.elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package func isPath(_ text: [UInt8]) -> Bool { path.elementsEqual(text) }

    /// The value of the first header field of that name in any case; valid during the request.
    package func header(_ name: StaticString) -> UnsafeRawBufferPointer? {
        let start = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        var length = 0
        guard let value = sluice_mhd_header(connection, start, name.utf8CodeUnitCount, &length) else { return nil }
        return UnsafeRawBufferPointer(start: value, count: length)
    }

    /// The values of all header fields of that name in any case, in their order.
    package func headerValues(_ name: String) -> [String] {
        let search = HeaderSearch(name: name)
        MHD_get_connection_values(
            connection,
            .HEADER_KIND,
            { context, _, name, value in
                guard let context, let name else { return .NO }
                let search = Unmanaged<HeaderSearch>.fromOpaque(context).takeUnretainedValue()
                if strcasecmp(name, search.name) == 0 { search.values.append(value.map { String(cString: $0) } ?? "") }
                return .YES
            },
            Unmanaged.passUnretained(search).toOpaque()
        )
        return search.values
    }

    /// The value of a parameter of the query, as it was sent.
    package func queryValue(_ name: String) -> String? {
        guard let value = MHD_lookup_connection_value(connection, .GET_ARGUMENT_KIND, name) else { return nil }
        return String(cString: value)
    }
}

private final class HeaderSearch {
    let name: String
    var values: [String] = []

    init(name: String) { self.name = name }
}

extension UnsafePointer<CChar> {
    fileprivate var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: self, count: strlen(self)) }

    fileprivate func equals(_ text: StaticString) -> Bool {
        strcmp(self, UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)) == 0
    }
}

extension UnsafeRawBufferPointer {
    /// Compares with text given in small letters; ASCII letters of any case are alike.
    package func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return indices.allSatisfy { index in
            let byte = self[index]
            let isCapital = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
            return (isCapital ? byte | 0x20 : byte) == text.utf8Start[index]
        }
    }

    /// The value of 1 to 18 digits and nothing else.
    package var decimal: Int? {
        guard (1...18).contains(count) else { return nil }
        var value = 0
        for byte in self {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return value
    }
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
