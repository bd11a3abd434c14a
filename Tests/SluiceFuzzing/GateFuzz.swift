// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem

/// A gate file says something only if it verifies, and what is written over it is read again.
///
/// A first byte below 0x20 is taken off, and the rest becomes a line with the right checksum.
final class GateFuzz {
    private let scratch: ScratchSpool
    private let file: GateFile

    init() throws {
        scratch = try ScratchSpool()
        file = GateFile(in: scratch.spool)
    }

    func check(_ input: UnsafeRawBufferPointer) throws {
        let isSigned = input.first.map { $0 < 0x20 } ?? false
        let bytes = isSigned ? Self.signed(Array(input.dropFirst())) : Array(input)
        try scratch.write(bytes, to: scratch.spool.gate)
        let gate = file.current()
        if let gate {
            try hold(PlainJSON(bytes, maximumDepth: 4) != nil, "a gate that is no JSON")
            try hold(file.read(destination: gate.destination) == gate, "the gate of its own destination")
            _ = gate.isClosed(atMilliseconds: 1_796_000_000_000)
        }
        // A relay of the same destination, one of another, and one that finds no file.
        let destination = gate?.destination ?? 7
        let changed = try file.update(destination: destination) { $0.consecutiveFailures = 3 }
        try hold(changed.closedUntilMilliseconds == (gate?.closedUntilMilliseconds ?? 0), "the gate opened by itself")
        let read = try need(file.current(), "a gate that was written does not verify")
        try hold(read.consecutiveFailures == 3 && read.destination == destination, "the gate's change")
        try hold(read.closedUntilMilliseconds == changed.closedUntilMilliseconds, "the gate's time")
        try hold(
            changed.reason.utf8.starts(with: read.reason.utf8) && read.reason.utf8.count <= 300,
            "the gate's reason"
        )
        try hold((read.haltedReason == nil) == (changed.haltedReason == nil), "whether it is halted")
        let other = try file.update(destination: ~destination) { $0.hasDelivered = true }
        try hold(
            other.closedUntilMilliseconds == 0 && other.haltedReason == nil,
            "another destination's gate is closed"
        )
        try hold(file.read(destination: destination).consecutiveFailures == 0, "a gate that is forgotten")
    }

    private static func signed(_ text: [UInt8]) -> [UInt8] {
        let sum = text.withUnsafeBytes { Checksum.xxh3($0) }
        return text + Array(",\"checksum\":\"\(SegmentName.writerText(sum))\"}\n".utf8)
    }
}
