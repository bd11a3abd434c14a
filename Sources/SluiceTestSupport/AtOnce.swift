// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// Runs `body` for every element, some at a time on threads of their own; for many cases that wait more than they work.
///
/// - Parameters:
///   - elements: the cases.
///   - count: how many run at a time.
///   - body: tells what is wrong with one of them, in words.
/// - Returns: everything that is wrong, with the element in front.
package func problems<Element: Sendable>(
    among elements: [Element],
    atOnce count: Int = 4,
    _ body: @escaping @Sendable (Element) throws -> [String]
) -> [String] {
    let next = Lock(0)
    let found = Lock<[String]>([])
    let threads = (0..<min(count, elements.count)).map { _ in
        SystemThread(name: "case") {
            while true {
                let index = next.withLock { next in
                    defer { next += 1 }
                    return next
                }
                guard index < elements.count else { return }
                let wrong: [String]
                do {
                    wrong = try body(elements[index])
                } catch {
                    wrong = ["\(error)"]
                }
                found.withLock { $0 += wrong.map { "\(elements[index]): \($0)" } }
            }
        }
    }
    for thread in threads { thread.join() }
    return found.withLock { $0 }
}
