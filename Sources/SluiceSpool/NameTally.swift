// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

/// How often names were met, for the most frequent of them, in bounded memory.
///
/// The space-saving algorithm (Metwally, Agrawal, El Abbadi 2005): where there is no room for a new name it takes the
/// place and the count of the rarest, so a frequent name is never missing and a count is never too low.
package struct NameTally: Sendable, Hashable {
    package struct Entry: Sendable, Hashable {
        package var name: [UInt8]
        package var count: Int
    }

    /// Longer names are cut.
    package static let maximumNameBytes = 64
    /// Names in a segment's footer.
    package static let footerEntries = 16
    private static let maximumEntries = 64

    private var entries: [Entry] = []

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    /// The most frequent first; equal ones by their bytes.
    package var mostFrequent: [Entry] {
        entries.sorted { $0.count != $1.count ? $0.count > $1.count : $0.name.lexicographicallyPrecedes($1.name) }
    }

    package mutating func add(_ name: UnsafeRawBufferPointer, count: Int = 1) {
        let name = name.prefix(Self.maximumNameBytes)
        var rarest = 0
        for index in entries.indices {
            if entries[index].name.elementsEqual(name) {
                entries[index].count += count
                return
            }
            if entries[index].count < entries[rarest].count { rarest = index }
        }
        if entries.count < Self.maximumEntries {
            entries.append(Entry(name: Array(name), count: count))
        } else {
            entries[rarest] = Entry(name: Array(name), count: entries[rarest].count + count)
        }
    }

    package mutating func add(_ other: NameTally) {
        for entry in other.entries { entry.name.withUnsafeBytes { add($0, count: entry.count) } }
    }
}

/// A tally that several threads add to.
package final class SharedNameTally: Sendable {
    private let tally = Lock(NameTally())

    package init() {}

    package func withLock<Result>(_ body: (inout NameTally) -> Result) -> Result { tally.withLock { body(&$0) } }

    /// The most frequent names so far, which stay.
    package var mostFrequent: [NameTally.Entry] { tally.withLock { $0.mostFrequent } }

    /// Everything since the last call.
    package func take() -> NameTally {
        tally.withLock { tally in
            defer { tally = NameTally() }
            return tally
        }
    }
}

// MARK: Text

extension NameTally {
    /// A JSON object, the most frequent name first, at most `footerEntries` of them.
    func appendJSON(to output: inout ByteBuffer) {
        output.append("{")
        for (index, entry) in mostFrequent.prefix(Self.footerEntries).enumerated() {
            if index > 0 { output.append(",") }
            // A name that was cut inside a character would not be UTF-8.
            output.append(jsonString: String(decoding: entry.name, as: UTF8.self))
            output.append(":")
            output.append(decimal: entry.count)
        }
        output.append("}")
    }

    /// Reads the object under `key` of a line of JSON; empty when there is none.
    init(in line: UnsafeRawBufferPointer, key: StaticString) {
        var padded = ByteBuffer(capacity: line.count)
        padded.append(line)
        let parser = JSONParser(maximumBytes: 1 << 16, maximumDepth: 4)
        guard let document = try? parser.parse(padded.bytes),  // whatever is wrong, nothing is known
            let object = document.value(of: key, in: 0)
        else { return }
        for member in document.members(of: object) {
            guard let count = document.integer(document[member.value]), (1...1 << 40).contains(count) else { continue }
            add(document.text(document[member.key]), count: count)
        }
    }
}
