// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import SluiceJSON
import SluiceSystem
import Testing

/// Bodies with random damage: whatever comes in, what goes out are records, one for each event that was taken.
struct MutationTests {
    /// xorshift64*, so that a failure can be repeated from its seed.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state ^= state >> 12
            state ^= state << 25
            state ^= state >> 27
            return state &* 0x2545_F491_4F6C_DD1D
        }
    }

    private static let pieces: [[UInt8]] =
        [
            "\"", "\\", "{", "}", "[", "]", ",", ":", "\\u0000", "\\ud800", "1e400", "-", "null", "\u{0}", "\n", "é",
            "{\"events\":[", "\"event\":", "99999999999999999999", "\"token\":1,", " ", "\"properties\":{}", "@a.io",
        ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0x80]]

    private func mutate(_ body: [UInt8], with generator: inout Generator) -> [UInt8] {
        var body = body
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let place = Int.random(in: 0..<body.count, using: &generator)
            let length = min(Int.random(in: 0...8, using: &generator), body.count - place)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: body[place] = UInt8.random(in: 0...255, using: &generator)
            case 1: body.replaceSubrange(place..<place + length, with: [])
            case 2: body.insert(contentsOf: Self.pieces.randomElement(using: &generator) ?? [], at: place)
            case 3: body.insert(contentsOf: Array(body[place..<place + length]), at: place)
            default: body[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            }
            if body.isEmpty { body = [0x20] }
        }
        return body
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `damaged bodies give records or refusals and nothing else`(seed: UInt64) throws {
        let contract = try Contract(
            """
            {contract_version: "1", schema_versions: {min: 1, max: 1}, on_unknown: "quarantine", email_like: "remove",
             experiments: ["x"], defaults: {"*": {platform: "ios", schema_version: 1}},
             events: {screen_view: {properties: {screen: {type: "string"}, count: {type: "number"}, ok: {type: "boolean"}}}}}
            """
        )
        let original = body(
            Envelope(["experiments": #"{"x":"a"}"#]),
            Envelope(["event": #""other""#, "properties": #"{"b":"\u00e9\ud83d\ude00","a":-1.5e3}"#]),
            Envelope(["user_id": #""usr_1""#, "sequence": "3"])
        )
        var admission = Admission.phone
        admission.unprovenUser = .claimed
        var generator = Generator(state: seed &* 0x9E37_79B9_7F4A_7C15)
        var judge = EventJudge()
        let parser = JSONParser(maximumBytes: 1 << 16)
        var taken = 0
        for _ in 0..<3000 {
            let body = mutate(original, with: &generator)
            let judged = Judged(body, judge: &judge, by: contract, under: admission)
            #expect(judged.records.count == judged.events.count { $0.outcome != .rejected })
            #expect(judged.refusal == nil || judged.events.isEmpty)
            #expect(!judged.answer.utf8.contains { $0 < 0x20 })
            for line in judged.records {
                var buffer = ByteBuffer()
                buffer.append(line)
                let record = try SpooledRecord(try parser.parse(buffer.bytes))
                #expect(!record.document.text(record.document[record.eventID]).isEmpty)
                // A record judged again is a record or stays.
                var again = ByteBuffer()
                let origin = SpooledRecord.Origin(segment: "s", frame: 0, index: 0)
                if case .replayed = judge.rejudge(record, from: origin, by: contract, records: &again) {
                    #expect(try SpooledRecord(try parser.parse(again.bytes)).replays == 1)
                }
            }
            taken += judged.records.count
        }
        // The damage is small enough for many events to pass; else this would prove nothing.
        #expect(taken > 1000)
    }
}
