// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem

/// A wall clock of its own for a program, libfaketime's, that can be stepped while the program runs.
struct FakeClock {
    private let library: String
    private let path: String

    /// - Returns: nil when libfaketime is not installed.
    init?(folder: String, name: String) {
        let folders = (try? FileSystem.names(in: "/usr/lib")) ?? []  // not there: no library
        let candidates = folders.map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }
        guard let library = candidates.first(where: { access($0, R_OK) == 0 }) else { return nil }
        self.library = library
        path = "\(folder)/clock-\(name)"
    }

    /// What a program's environment needs.
    var environment: [String] {
        [
            "LD_PRELOAD=\(library)", "FAKETIME_TIMESTAMP_FILE=\(path)", "FAKETIME_CACHE_DURATION=1",
            "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_RESET=1",
        ]
    }

    /// Steps the clock so many seconds off the machine's.
    func set(_ offset: Int) throws {
        let file = try File(opening: "\(path).new", O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
        try file.write(offset < 0 ? "\(offset)\n" : "+\(offset)\n")
        try FileSystem.replace(path, with: "\(path).new")
    }
}
