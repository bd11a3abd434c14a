// SPDX-License-Identifier: Apache-2.0
import SluiceGraphJSON
import SluiceJSON
import SluiceSystem
import Testing

struct RequestEncoderTests {
    static func encode(_ shape: BulkShape, _ collection: String, _ timestamps: [Int], _ events: [String]) -> String {
        var escaped = ByteBuffer()
        var ranges: [Range<Int>] = []
        for event in events {
            let start = escaped.count
            Array(event.utf8).withUnsafeBytes { escaped.append(escapingForJSONString: $0) }
            ranges.append(start..<escaped.count)
        }
        var buffer = ByteBuffer()
        let encoder = RequestEncoder(shape: shape, apiKey: "k\"1")
        let texts = ranges.map { UnsafeRawBufferPointer(rebasing: escaped.bytes[$0]) }
        Array(collection.utf8).withUnsafeBytes { collection in
            texts.withUnsafeBufferPointer { texts in
                timestamps.withUnsafeBufferPointer { timestamps in
                    encoder.encode(collection: collection, timestamps: timestamps, events: texts, into: &buffer)
                }
            }
        }
        let limit = encoder.byteCountLimit(
            collectionBytes: collection.utf8.count,
            eventCount: events.count,
            textBytes: escaped.count
        )
        #expect(buffer.count <= limit)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    @Test func `shared-timestamp has one timestamp for all`() {
        #expect(
            Self.encode(.sharedTimestamp, "app\n", [5, 5], ["{\"a\":\"\\n\"}", "{}"])
                == #"{"api_key":"k\"1","collection":"app\n","timestamp":5,"jsons":["{\"a\":\"\\n\"}","{}"]}"#
        )
    }

    @Test func `timestamps stand parallel to the events`() {
        #expect(
            Self.encode(.timestamps, "app", [5, 6, -7], ["{}", "{\"b\":2}", "{}"])
                == #"{"api_key":"k\"1","collection":"app","timestamps":[5,6,-7],"jsons":["{}","{\"b\":2}","{}"]}"#
        )
    }

    @Test func `single holds one event`() {
        #expect(
            Self.encode(.single, "app", [1_796_011_200], ["{\"b\":2}"])
                == #"{"api_key":"k\"1","collection":"app","timestamp":1796011200,"json":"{\"b\":2}"}"#
        )
    }

    @Test(arguments: [BulkShape.sharedTimestamp, .timestamps])
    func `fifty events fit and come back as they were`(shape: BulkShape) throws {
        let events = (0..<50).map {
            "{\"n\":\($0),\"text\":\"é😀 \\\"q\\\" \\\\ \(String(repeating: "x", count: $0))\"}"
        }
        let text = Self.encode(shape, "c", Array(repeating: 9, count: 50), events)
        var buffer = ByteBuffer()
        buffer.append(text)
        let document = try JSONParser(maximumBytes: 1 << 20).parse(buffer.bytes)
        let jsons = try #require(document.value(of: "jsons", in: 0))
        #expect(document.elements(of: jsons).map { document.string(document[$0]) } == events)
    }

    @Test func `more than fifty are a mistake of the caller`() async {
        await #expect(processExitsWith: .failure) {
            _ = Self.encode(.timestamps, "c", Array(repeating: 9, count: 51), Array(repeating: "{}", count: 51))
        }
    }
}
