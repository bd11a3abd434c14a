// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSystem

@main
struct Program {
    static func main() async {
        let words = ProcessArguments.words
        let output = Output()
        if words.contains("--help") || words.contains("-h") {
            try? output.line(StubOptions.help)  // nobody reads: nothing to tell
            try? output.flush()
            return
        }
        let signals = Signals.install(delivered: true)
        do {
            let options = try StubOptions(Arguments(words))
            let stub = try Stub(options)
            try output.line("listening on \(stub.address)")
            try output.flush()
            let (stops, continuation) = AsyncStream.makeStream(of: Void.self)
            signals.deliver { request in
                if request != .reload { continuation.yield() }
            }
            for await _ in stops { break }
            stub.stop()
        } catch {
            let code: ExitCode = error is UsageError ? .usage : .io
            let text = Array("graphjson-stub: \(error)\n".utf8)
            _ = write(STDERR_FILENO, text, text.count)
            exit(code.rawValue)
        }
    }
}
