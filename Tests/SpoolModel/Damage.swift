// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTestSupport

extension Processes {
    /// Changes bytes of some file that nobody writes at this moment: flips a bit, cuts the end off, or leaves zeros.
    func damageSomething() throws {
        stopWriter()
        var paths = try DiskSnapshot(of: root).files.filter { !$0.value.isEmpty }.keys.sorted()
        // What stands in FORMAT or among the erased cannot be guessed: relays stop then, as they must.
        paths.removeAll { $0 == "FORMAT" || $0 == "erased" }
        paths.removeAll { $0.contains("lock") || $0.contains(SegmentName.newPrefix) }
        guard !paths.isEmpty else { return }
        let path = random.pick(paths)
        // Whoever holds it would see it change under his hands, which is another case.
        let file = try File(opening: "\(root)/\(path)", O_RDWR)
        guard try file.tryLock() else { return }
        let bytes = try FileSystem.contents(of: "\(root)/\(path)", limit: 1 << 30)
        var damage = Mark.Damage(path: path, what: "")
        let place = random.below(bytes.count)
        var range = place..<bytes.count
        switch random.below(3) {
        case 0:
            range = place..<place + 1
            damage.what = "a bit flipped at \(place)"
        case 1:
            range = place..<min(bytes.count, place + 1 + random.below(600))
            damage.what = "zeros at \(range)"
        default: damage.what = "cut to \(place)"
        }
        damage.serials = try serials(in: path, around: range)
        let part = path.split(separator: "/").first ?? ""
        damage.forgetsDeliveries = part == "progress" || part == "ledger" || part == "duplicates"
        damage.changesBooks = part == "ledger" || part == "quarantine" || part == "progress"
        mark(.damaged(damage))
        if damage.what.hasPrefix("cut") {
            try file.truncate(to: place)
            return try file.sync()
        }
        let isFlip = damage.what.hasPrefix("a bit")
        let changed = range.map { isFlip ? bytes[$0] ^ (1 << UInt8(random.below(8))) : 0 }
        try changed.withUnsafeBytes { try file.write($0, at: range.lowerBound) }
        try file.sync()
    }

    /// The records of a segment or quarantine file whose groups the range touches.
    private func serials(in path: String, around range: Range<Int>) throws -> [Int] {
        guard path.hasSuffix(".open") || path.hasSuffix(SegmentName.sealedSuffix) else { return [] }
        let reader = try SegmentReader(opening: "\(root)/\(path)")
        var buffer = ByteBuffer()
        var found: [Int] = []
        while true {
            switch try reader.next(into: &buffer) {
            case .frame(let offset, let length, _):
                // With its count frame.
                guard offset - 48 < range.upperBound && range.lowerBound < offset + length else { continue }
                for line in String(decoding: buffer.bytes, as: UTF8.self).split(separator: "\n") {
                    if let serial = ModelRecord.serial(inEntry: line) { found.append(serial) }
                }
            case .damaged, .tornTail: continue
            case .end: return found
            }
        }
    }
}
