// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceFuzzing
import SluiceSystem

#if FUZZER
/// What libFuzzer calls; its own `main` is linked in. https://llvm.org/docs/LibFuzzer.html
///
/// The target's name stands in SLUICE_FUZZ_TARGET, which the processes that libFuzzer starts inherit.
enum Fuzzer {
    private static let name = ProcessEnvironment.current["SLUICE_FUZZ_TARGET"] ?? ""

    private static let limit = FuzzTarget.named(name)?.maximumBytes ?? 0

    /// libFuzzer feeds its inputs on one thread.
    nonisolated(unsafe) private static let check: FuzzTarget.Check = {
        guard let target = FuzzTarget.named(name) else {
            fatalError("SLUICE_FUZZ_TARGET names none of \(FuzzTarget.all.map(\.name).joined(separator: " "))")
        }
        do { return try target.prepare() } catch { fatalError("\(name) cannot begin: \(error)") }
    }()

    static func feed(_ input: UnsafeRawBufferPointer) {
        guard input.count <= limit else { return }
        do { try check(input) } catch { fatalError("\(name): \(error)") }
    }
}

/// Checks one input; libFuzzer's entry point.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafeRawPointer?, _ count: Int) -> Int32 {
    Fuzzer.feed(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}
#else
/// Built without libFuzzer, it tells the targets, or checks files.
@main
struct Program {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        guard let name = words.first, let target = FuzzTarget.named(name) else {
            print("usage: sluice-fuzz TARGET [FILE…]")
            for target in FuzzTarget.all { print("  \(target.name): \(target.subject)") }
            exit(words.isEmpty ? 0 : 64)
        }
        var isGood = true
        do {
            let check = try target.prepare()
            for path in words.dropFirst() {
                let input = try FileSystem.contents(of: path, limit: 1 << 20)
                do {
                    try input.withUnsafeBytes { try check($0) }
                } catch {
                    isGood = false
                    print("\(path): \(error)")
                }
            }
        } catch {
            isGood = false
            print("\(error)")
        }
        exit(isGood ? 0 : 65)
    }
}
#endif
