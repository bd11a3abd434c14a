// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceEvents
import SluiceJSON
import SluiceSystem
import Testing

/// Test vectors of others, read where they lie; these tests are skipped by name when they are not there.
struct VectorTests {
    private static let folder =
        ProcessInfo.processInfo.environment["SLUICE_TEST_VECTORS"]
        ?? URL(filePath: #filePath).appending(path: "../../../../shared/vectors").standardized.path()

    private static let suite = folder + "/JSONTestSuite"
    private static let names = ((try? FileSystem.names(in: suite)) ?? []).filter { $0.hasSuffix(".json") }  // or absent
    private static let naughty: [String] = {
        guard let bytes = try? FileSystem.contents(of: folder + "/naughty-strings.json", limit: 1 << 20) else {
            return []
        }
        return (try? JSONDecoder().decode([String].self, from: Data(bytes))) ?? []
    }()

    private let contract: Contract

    init() throws {
        contract = try Contract(
            """
            {contract_version: "1", schema_versions: {min: 1, max: 1}, email_like: "allow",
             events: {screen_view: {properties: {screen: {type: "string"}, count: {type: "number"}, ok: {type: "boolean"}}}}}
            """
        )
    }

    private func vector(_ name: String) throws -> [UInt8] {
        try FileSystem.contents(of: Self.suite + "/" + name, limit: 1 << 20)
    }

    /// The bytes of a field in the first record; Foundation would drop a U+FEFF at a string's start.
    private func stored(_ field: String, in judged: Judged) throws -> [UInt8] {
        var line = ByteBuffer()
        line.append(try #require(judged.records.first))
        let document = try JSONParser(maximumBytes: 1 << 16).parse(line.bytes)
        let record = try SpooledRecord(document)
        let part = field == "user_id" ? record.trusted : record.envelope
        let member = document.members(of: part).first { document.string(document[$0.key]) == field }
        return Array(document.text(document[try #require(member).value]))
    }

    /// Whether the bytes between two good events are refused alone, or with the whole body; never anything else.
    private func checkNeighbours(_ element: [UInt8], isJSON: Bool?) throws {
        let good = Envelope().text
        let body = Array("{\"events\":[\(good),".utf8) + element + Array(",\(good)]}".utf8)
        let judged = Judged(body, by: contract)
        if let refusal = judged.refusal {
            #expect(isJSON != true)
            #expect(refusal.code == .invalidJSON || refusal.code == .tooManyEvents)
            #expect(judged.records.isEmpty)
        } else {
            #expect(judged.events.first?.outcome == .accepted && judged.events.last?.outcome == .accepted)
            #expect(judged.records.count == 2)
        }
    }

    @Test(.enabled(if: !names.isEmpty, "the vectors folder is not present"), arguments: names)
    func `each vector as a whole body is no batch`(name: String) throws {
        let judged = Judged(try vector(name), by: contract)
        #expect(judged.records.isEmpty)
        #expect(judged.refusal?.status == 400)
    }

    @Test(.enabled(if: !names.isEmpty, "the vectors folder is not present"), arguments: names)
    func `each vector as an envelope costs nobody else`(name: String) throws {
        let isJSON: Bool? = name.hasPrefix("y_") ? true : name.hasPrefix("n_") ? false : nil
        try checkNeighbours(try vector(name), isJSON: isJSON)
    }

    @Test(.enabled(if: !names.isEmpty, "the vectors folder is not present"), arguments: names)
    func `each vector as a property's value is stored as it was or refused`(name: String) throws {
        let front =
            Array(Envelope(["properties": nil]).text.utf8.dropLast()) + Array(",\"properties\":{\"screen\":".utf8)
        let element = front + (try vector(name)) + Array("}}".utf8)
        let judged = Judged(Array("{\"events\":[".utf8) + element + Array("]}".utf8), by: contract)
        guard let record = judged.records.first else { return }
        #expect(judged.codes == [nil])
        let screen = try JSONDecoder().decode(String.self, from: Data(try vector(name)))
        let properties = try JSONDecoder().decode([String: String].self, from: Data(judged.properties().utf8))
        #expect(properties["screen"]?.unicodeScalars.elementsEqual(screen.unicodeScalars) == true)
        #expect(!record.utf8.contains { $0 < 0x20 })
    }

    @Test(.enabled(if: !naughty.isEmpty, "the vectors folder is not present"), arguments: naughty)
    func `each naughty string in each field is stored byte for byte or refused`(text: String) throws {
        let json = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
        for field in ["anonymous_id", "session_id", "user_id", "app_version", "build_number", "event_id", "platform"] {
            let judged = Judged(Envelope([field: json]).body, by: contract, under: .server)
            if judged.codes == [nil] {
                #expect(try stored(field, in: judged).elementsEqual(text.utf8))
            } else {
                #expect(judged.records.isEmpty)
                #expect(judged.events.first?.detail == field)
            }
        }
        let property = Judged(Envelope(["properties": "{\"screen\":\(json)}"]).body, by: contract)
        #expect(property.codes == [text.utf8.contains(0) ? "invalid_property" : nil])
        if property.codes == [nil] {
            let properties = try JSONDecoder().decode([String: String].self, from: Data(property.properties().utf8))
            #expect(properties["screen"]?.unicodeScalars.elementsEqual(text.unicodeScalars) == true)
        }
        let unlisted = Judged(Envelope(["properties": "{\(json):1}"]).body, by: contract)
        #expect(unlisted.codes.count == 1)
    }
}
