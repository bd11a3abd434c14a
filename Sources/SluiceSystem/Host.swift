// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// The machine that this process runs on.
package enum Host {
    /// The host's name, `gethostname(2)`; empty when it has none.
    package static var name: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "" }
        return bytes.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }
}
