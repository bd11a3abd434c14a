// SPDX-License-Identifier: Apache-2.0
import SluiceJSON
import SluiceSystem

/// What `sluice-relay status --json` says.
struct SpoolBooks {
    var accepted = 0
    var delivered = 0
    var duplicate = 0
    var expired = 0
    var discarded = 0
    var erased = 0
    var quarantined = 0
    var pending = 0
    var damaged = 0
    var tornTails = 0
    var isBalanced = false
    var problems: [String] = []
    var gate = ""

    /// - Returns: nil when the bytes are not what `status` prints.
    init?(_ bytes: [UInt8]) {
        var buffer = ByteBuffer(capacity: bytes.count)
        buffer.append(bytes)
        let parser = JSONParser(maximumBytes: 16 << 20)
        guard let document = try? parser.parse(buffer.bytes),  // cut off, when the program was
            let balanced = document.value(of: "balanced", in: 0)
        else { return nil }
        func number(_ key: StaticString) -> Int {
            document.value(of: key, in: 0).flatMap { document.integer(document[$0]) } ?? 0
        }
        accepted = number("accepted")
        delivered = number("delivered")
        duplicate = number("duplicate")
        expired = number("expired")
        discarded = number("discarded")
        erased = number("erased")
        quarantined = number("quarantined")
        pending = number("pending")
        damaged = number("damaged")
        tornTails = number("torn_tails")
        isBalanced = document[balanced].kind == .true
        if let list = document.value(of: "problems", in: 0) {
            problems = document.elements(of: list).map { document.string(document[$0]) }
        }
        if let member = document.value(of: "gate", in: 0) {
            gate = String(decoding: document.raw(document[member]), as: UTF8.self)
        }
    }

    /// The equation in one line.
    var line: String {
        "accepted \(accepted) = delivered \(delivered) + duplicate \(duplicate) + expired \(expired) + discarded "
            + "\(discarded) + erased \(erased) + quarantined \(quarantined) + pending \(pending) "
            + (isBalanced ? "(balanced)" : "(NOT balanced: \(problems.joined(separator: "; ")))")
    }
}
