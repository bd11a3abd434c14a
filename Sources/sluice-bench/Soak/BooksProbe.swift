// SPDX-License-Identifier: Apache-2.0
import SluiceSystem

/// Looks at the books in the middle of everything: they must be balanced at any moment, and know of all that was
/// acknowledged before.
struct BooksProbe {
    private let tools: RelayTools
    private let interval: Int64
    private var nextAt: Int64
    private var running: ChildProcess?
    private var acknowledgedBefore = 0
    private(set) var count = 0
    private(set) var unbalanced = 0
    private(set) var behind = 0
    /// Ends without an answer, by exit code.
    private(set) var failures: [Int32: Int] = [:]
    private(set) var examples: [String] = []

    init(_ tools: RelayTools, intervalSeconds: Double, _ now: Int64) {
        self.tools = tools
        interval = Int64(intervalSeconds * 1e9)
        nextAt = now + interval
    }

    /// * `acknowledged`: events whose acknowledgement has come.
    /// * `tolerated`: events that the books may not know of, as bytes that only count them were overwritten.
    mutating func tend(_ now: Int64, acknowledged: Int, tolerated: Int) throws {
        guard let process = running else {
            guard now >= nextAt else { return }
            acknowledgedBefore = acknowledged
            running = try tools.start(["status", "--json"], as: "books")
            return
        }
        guard let ending = process.poll() else { return }
        running = nil
        nextAt = now + interval
        guard let books = SpoolBooks(tools.output(of: "books")) else {
            failures[ending.code, default: 0] += 1
            return
        }
        count += 1
        if !books.isBalanced {
            unbalanced += 1
            note(books.line)
        }
        if books.accepted + tolerated < acknowledgedBefore {
            behind += 1
            note("\(acknowledgedBefore) events were acknowledged, the books know of \(books.accepted)")
        }
    }

    private mutating func note(_ text: String) {
        if examples.count < 10 { examples.append(text) }
    }

    /// Waits for one that is under way.
    mutating func finish() {
        running?.wait()
        running = nil
    }
}
