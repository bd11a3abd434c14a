// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// `strace` on one thread of this process: watches its calls and lets some of them fail.
///
/// The calls of other threads, and so of other tests, are left alone.
final class Tracer {
    /// Whether `strace` is here and may attach to threads of this process.
    static let isPossible: Bool = {
        guard Tool.isInstalled("strace") else { return false }
        let barrier = Barrier()
        let number = Lock<Int?>(nil)
        let thread = SystemThread(name: "traced") {
            number.withLock { $0 = WriterFixture.currentThread() }
            barrier.wait()
        }
        defer {
            barrier.open()
            thread.join()
        }
        while !barrier.hasWaiters { usleep(1_000) }
        return (try? Tracer(number.withLock { $0 } ?? 0)) != nil  // refused: the tests are skipped by name
    }()

    private let folder = TemporaryFolder()
    private let child: ChildProcess
    private let thread: Int

    /// Attaches to `thread`, with rules such as `inject=fdatasync:error=EIO:when=1`.
    init(_ thread: Int, _ rules: String...) throws {
        self.thread = thread
        let path = try #require(Tool.path(of: "strace"))
        let calls = "trace=openat,flock,write,fsync,fdatasync,ftruncate,renameat2,unlink"
        let arguments = ["-y", "-s", "0", "-o", folder.path("calls"), "-p", String(thread), "-e", calls]
        child = try ChildProcess(
            path,
            arguments + rules.flatMap { ["-e", $0] },
            output: folder.path("output"),
            errors: folder.path("errors")
        )
        while !isAttached {
            try #require(child.poll() == nil, "strace may not attach")
            usleep(1_000)
        }
    }

    private var isAttached: Bool {
        let status = (try? FileSystem.contents(ofProc: "/proc/self/task/\(thread)/status")) ?? []  // thread is gone
        return String(decoding: status, as: UTF8.self).contains("TracerPid:\t\(child.id)\n")
    }

    /// Lets go of the thread.
    ///
    /// - Returns: its calls as `strace -y` writes them.
    func stop() throws -> [String] {
        child.send(SIGINT)
        child.wait()
        let path = folder.path("calls")
        let bytes = try FileSystem.contents(of: path, limit: FileStatus(of: path).size)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
