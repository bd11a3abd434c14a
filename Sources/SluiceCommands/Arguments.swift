// SPDX-License-Identifier: Apache-2.0

/// The words after a program's name, taken out one kind after the other.
///
/// Options are `--key value` or `--key=value`; a value that begins with `--` needs the second form. Behind a lone `--`
/// nothing is an option. A command asks for its options first, then for what remains; an option that nobody asked
/// for is an error then.
package struct Arguments: Sendable {
    private var words: [String]
    private var rest: [String]
    private var known: [String] = []

    package init(_ words: [String]) {
        if let end = words.firstIndex(of: "--") {
            self.words = Array(words[..<end])
            rest = Array(words[(end + 1)...])
        } else {
            self.words = words
            rest = []
        }
    }

    /// Takes the first word if it is not an option: the verb.
    package mutating func verb() -> String? {
        guard let first = words.first, !first.hasPrefix("-") else { return nil }
        words.removeFirst()
        return first
    }

    /// Takes an option's value; nil when it is absent.
    ///
    /// - Throws: when the value is missing or the option stands twice.
    package mutating func option(_ name: String) throws(UsageError) -> String? {
        let values = try options(name)
        guard values.count < 2 else { throw UsageError("\(name) stands more than once") }
        return values.first
    }

    /// Takes the values of an option that may stand several times.
    ///
    /// - Throws: when a value is missing.
    package mutating func options(_ name: String) throws(UsageError) -> [String] {
        known.append(name)
        var values: [String] = []
        var index = 0
        while index < words.count {
            let word = words[index]
            if word == name {
                guard index + 1 < words.count, !words[index + 1].hasPrefix("--") else {
                    throw UsageError("\(name) needs a value")
                }
                values.append(words[index + 1])
                words.removeSubrange(index...index + 1)
            } else if word.hasPrefix(name + "=") {
                values.append(String(word.dropFirst(name.count + 1)))
                words.remove(at: index)
            } else {
                index += 1
            }
        }
        return values
    }

    /// Takes an option's value as a whole number.
    ///
    /// - Throws: also when it is no number in `range`.
    package mutating func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = try option(name) else { return nil }
        guard let value = Int(text), range.contains(value) else {
            let limits =
                range.upperBound == .max
                ? "from \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
            throw UsageError("\(name) takes a whole number \(limits), not \(text)")
        }
        return value
    }

    /// Takes an option's value as a number.
    ///
    /// - Throws: also when it is no number in `range`.
    package mutating func number(_ name: String, in range: ClosedRange<Double>) throws(UsageError) -> Double? {
        guard let text = try option(name) else { return nil }
        guard let value = Double(text), range.contains(value) else {
            throw UsageError("\(name) takes a number from \(range.lowerBound) to \(range.upperBound), not \(text)")
        }
        return value
    }

    /// Takes a switch; standing twice is no fault.
    ///
    /// - Throws: when it was given a value.
    package mutating func flag(_ name: String) throws(UsageError) -> Bool {
        known.append(name)
        if words.contains(where: { $0.hasPrefix(name + "=") }) { throw UsageError("\(name) takes no value") }
        let count = words.count
        words.removeAll { $0 == name }
        return words.count < count
    }

    /// Takes what is left.
    ///
    /// - Parameter names: what the words are, for the message when there are too few or too many; `[NAME]` may be absent,
    ///   and `[NAME…]` at the end stands for any number.
    /// - Returns: the words, those behind `--` last.
    /// - Throws: for an option that nobody asked for, and for words too few or too many.
    package mutating func remaining(_ names: String...) throws(UsageError) -> [String] {
        if let unknown = words.first(where: { $0.hasPrefix("-") && $0 != "-" }) {
            let name = String(unknown.prefix { $0 != "=" })
            let hint = Nearest.name(to: name, among: known).map { "; did you mean \($0)?" } ?? ""
            throw UsageError("\(name) is no option here\(hint)")
        }
        let all = words + rest
        words = []
        rest = []
        let required = names.prefix { !$0.hasPrefix("[") }
        guard all.count >= required.count else { throw UsageError("\(names[all.count]) is missing") }
        if names.last?.hasSuffix("…]") != true, all.count > names.count {
            throw UsageError("\(all[names.count]) is one word too many")
        }
        return all
    }
}
