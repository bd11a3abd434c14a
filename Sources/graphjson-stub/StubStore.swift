// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem

/// The file of accepted events; lines of one request are written in one call, before the answer.
///
/// `@unchecked Sendable`: the descriptor never changes, and the kernel puts each append behind the last.
final class StubStore: @unchecked Sendable {
    private let file: File

    init(path: String) throws(SystemError) {
        file = try File(opening: path, O_WRONLY | O_CREAT | O_APPEND, mode: 0o644)
    }

    func append(_ lines: UnsafeRawBufferPointer) throws(SystemError) { try file.write(lines) }
}
