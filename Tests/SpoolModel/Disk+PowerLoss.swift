// SPDX-License-Identifier: Apache-2.0
package import SluiceTestSupport

extension Disk {
    /// How much of what is not sure a loss of power leaves.
    package enum Loss: Hashable, Sendable, CaseIterable {
        /// Nothing.
        case everything
        /// All names, and no content: files come back short.
        case contents
        /// All content, and no names.
        case names
        /// All but one change of a name.
        case oneName
        /// Nothing but one change of a name.
        case allButOneName
        /// What chance decides, file by file and name by name.
        case some
    }

    /// One of the states that a loss of power may leave.
    package func snapshot(after loss: Loss, using random: inout SeededGenerator) -> DiskSnapshot {
        var names = base
        let unsure = nameRecords.indices.filter { !nameRecords[$0].isDurable }
        let chosen = unsure.randomElement(using: &random)
        let share = random.pick([10, 50, 90])
        for (index, record) in nameRecords.enumerated() {
            let survives =
                switch loss {
                case _ where record.isDurable: true
                case .everything, .names: false
                case .contents: true
                case .oneName: index != chosen
                case .allButOneName: index == chosen
                case .some: random.below(100) < share
                }
            if survives {
                names.apply(record)
            } else if case .move(let rename) = record.change, rename.isSourceDurable,
                names.places[record.node] == rename.source
            {
                names.take(record.node)
            }
        }
        return snapshot(names) { file in
            switch loss {
            case .everything, .contents, .allButOneName: file.durable
            case .names, .oneName: file.current
            case .some: file.torn(share: random.pick([0, 50, 90, 100]), using: &random)
            }
        }
    }
}

extension Disk.File {
    private static let pageBytes = 4096

    /// The content when every change since the last sync survived, was lost, was cut at some byte, or left zeros.
    func torn(share: Int, using random: inout SeededGenerator) -> [UInt8] {
        var content = durable
        var mapped: [Int: [Disk.Change]] = [:]
        for change in changes {
            if case .mapped(let offset, _) = change {
                mapped[offset / Self.pageBytes, default: []].append(change)
                continue
            }
            if random.below(100) < share {
                change.apply(to: &content)
            } else if case .write(let offset, let bytes) = change {
                // Lost as a whole once in three times.
                guard !random.oneIn(3) else { continue }
                let kept = random.oneIn(3) ? 0 : random.below(bytes.count)
                let zeros = random.oneIn(2) ? 0 : random.below(bytes.count - kept + 1)
                let rest = bytes[..<kept] + [UInt8](repeating: 0, count: zeros)
                Disk.Change.write(offset: offset, bytes: Array(rest)).apply(to: &content)
            }
        }
        // A page of shared memory was written out at some moment, or never.
        for (_, changes) in mapped.sorted(by: { $0.key < $1.key }) {
            for change in changes.prefix(random.below(changes.count + 1)) { change.apply(to: &content) }
        }
        return content
    }
}
