// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSoak
import SluiceSpool
import SluiceSystem

/// Overwrites bytes of sealed segments, ready and claimed ones, and remembers which events stood there.
struct SegmentDamager {
    /// A frame whose bytes were overwritten.
    struct Strike {
        var segment: SegmentName
        /// The bytes of its group, count frame and data frame.
        var range: Range<Int>
        /// The events in it.
        var numbers: [Int]
    }

    private struct Frame {
        var range: Range<Int>
        var numbers: [Int]
    }

    let spool: SpoolFolder
    let plan: SoakPlan
    private(set) var strikes: [Strike] = []

    init(spool: SpoolFolder, plan: SoakPlan) {
        self.spool = spool
        self.plan = plan
    }

    /// Damages one frame of a segment.
    ///
    /// - Returns: false when there is none.
    mutating func strike(_ random: inout SoakRandom) -> Bool {
        for path in candidates().shuffled(using: &random).prefix(10) {
            guard let segment = path.split(separator: "/").last.flatMap({ SegmentName(sealedFileName: $0) }),
                let strike = try? strike(segment, path, &random)  // gone meanwhile, or busy: another one
            else { continue }
            strikes.append(strike)
            return true
        }
        return false
    }

    private func candidates() -> [String] {
        var folders = [spool.ready]
        for name in (try? FileSystem.names(in: spool.claimed)) ?? [] { folders.append("\(spool.claimed)/\(name)") }
        return folders.flatMap { folder in
            ((try? FileSystem.names(in: folder)) ?? [])  // a relay's folder goes with it
                .filter { $0.hasSuffix(SegmentName.sealedSuffix) }.map { "\(folder)/\($0)" }
        }
    }

    private func strike(_ segment: SegmentName, _ path: String, _ random: inout SoakRandom) throws -> Strike? {
        // One file, wherever it is moved meanwhile.
        let file = try File(opening: path, O_RDWR)
        guard let frame = try frame(of: file, &random) else { return nil }
        var size = 1
        var bytes: [UInt8] = []
        switch random.below(4) {
        case 0: bytes = [try byte(of: file, at: frame.range.lowerBound + random.below(frame.range.count), &random)]
        case 1: size = 1 + random.below(min(512, frame.range.count))
        case 2:
            size = 1 + random.below(min(512, frame.range.count))
            bytes = (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        default: size = frame.range.count
        }
        if bytes.isEmpty { bytes = [UInt8](repeating: 0, count: size) }
        let offset = frame.range.lowerBound + random.below(frame.range.count - bytes.count + 1)
        try bytes.withUnsafeBytes { try file.write($0, at: offset) }
        return Strike(segment: segment, range: frame.range, numbers: frame.numbers)
    }

    /// The byte there with one bit turned over.
    private func byte(of file: borrowing File, at offset: Int, _ random: inout SoakRandom) throws -> UInt8 {
        var byte: UInt8 = 0
        _ = try withUnsafeMutableBytes(of: &byte) { try file.read(into: $0, at: offset) }
        return byte ^ 1 << UInt8(random.below(8))
    }

    /// One of the frames that can still be read, each as likely as the others.
    private func frame(of file: borrowing File, _ random: inout SoakRandom) throws -> Frame? {
        let copy = File(adopting: fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0), path: file.path)
        let reader = try SegmentReader(copy)
        var buffer = ByteBuffer()
        var chosen: Frame?
        var count = 0
        while true {
            switch try reader.next(into: &buffer) {
            case .frame(let offset, let length, _):
                count += 1
                guard random.below(count) == 0 else { continue }
                let start = offset - SegmentReader.countFrameBytes
                chosen = Frame(range: start..<offset + length, numbers: numbers(in: buffer.bytes))
            case .end: return chosen
            case .damaged, .tornTail: continue
            }
        }
    }

    private func numbers(in content: UnsafeRawBufferPointer) -> [Int] {
        Lines(content).compactMap { plan.number(inLine: $0) }
    }
}
