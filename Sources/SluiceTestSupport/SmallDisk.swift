// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// A filesystem of a megabyte or a few in memory, gone with its last user.
package final class SmallDisk {
    /// Whether this process may mount one; tests that need it are skipped by name otherwise.
    package static let isPossible = SmallDisk() != nil

    // Goes before the folder that it is mounted in.
    private let disk: MemoryDisk
    private let folder: TemporaryFolder

    package var path: String { disk.path }

    package init?(megabytes: Int = 1) {
        let folder = TemporaryFolder()
        guard let disk = MemoryDisk(at: folder.path("disk"), megabytes: megabytes) else { return nil }
        self.disk = disk
        self.folder = folder
    }

    /// Takes all room that is left.
    package func fill() { disk.fill() }

    /// Gives that room back.
    package func free() { disk.free() }
}
