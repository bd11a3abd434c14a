// SPDX-License-Identifier: Apache-2.0
internal import CSluiceSystem
internal import Glibc

/// A file as memory, shared with every process that maps it, which survives that the file is cut off under it.
///
/// Reading or writing a mapped page that is gone, because the file was truncated, its disk fails or a sparse part of it
/// finds no room, is SIGBUS and ends the process. Here the mapping then becomes memory of this process alone, full of
/// zeros, and `isLost` says so: the owner goes on and lets go of it when it next looks.
///
/// It may be used from any thread: address and length are fixed, and what lies there is its users' to order.
package final class MappedFile: @unchecked Sendable {
    package let memory: UnsafeMutableRawPointer
    package let count: Int
    private let number: Int32

    /// Maps the first `count` bytes of a file that is open for reading and, unless `isReadOnly`, writing.
    ///
    /// - Throws: what `mmap(2)` says; ENOMEM also when this process maps more than 64 files at once.
    package init(_ file: borrowing File, count: Int, isReadOnly: Bool = false) throws(SystemError) {
        let access = isReadOnly ? PROT_READ : PROT_READ | PROT_WRITE
        let mapped = mmap(nil, count, access, MAP_SHARED, file.descriptor, 0)
        guard let mapped, mapped != MAP_FAILED else { throw SystemError(call: "mmap", path: file.path, errno: errno) }
        let number = sluice_watch_mapping(mapped, count)
        if number < 0 {
            munmap(mapped, count)
            throw SystemError(call: "mmap", path: file.path, errno: ENOMEM)
        }
        memory = mapped
        self.count = count
        self.number = number
    }

    deinit {
        sluice_forget_mapping(number)
        munmap(memory, count)
    }

    /// Says that neighbours of what is read are not worth fetching.
    package func expectRandomAccess() { madvise(memory, count, MADV_RANDOM) }

    /// Whether a part of the file went away; what is in memory since then is this process's own.
    package var isLost: Bool { sluice_mapping_is_lost(number) != 0 }
}
