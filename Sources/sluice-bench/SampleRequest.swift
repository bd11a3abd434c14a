// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import SluiceGraphJSON
import SluiceJSON
import SluiceRelay
import SluiceSystem

/// A request of made-up events as a relay sends it.
enum SampleRequest {
    /// The body with 50 events, from the one of that number on.
    static func body(from first: Int) throws -> ByteBuffer {
        let parser = JSONParser(maximumBytes: 1 << 20)
        let transform = EventTransform(timestampPrecision: 1)
        var line = ByteBuffer()
        var texts = ByteBuffer()
        var ends: [Int] = []
        for number in first..<first + 50 {
            line.removeAll()
            SampleSpool.append(number, receivedAt: SampleSpool.firstSecond, recordsPerSecond: .max, to: &line)
            try transform.append(try SpooledRecord(try parser.parse(line.bytes)), to: &texts)
            ends.append(texts.count)
        }
        let events = ends.indices.map { index in
            UnsafeRawBufferPointer(rebasing: texts.bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]])
        }
        var body = ByteBuffer(capacity: texts.count + 1024)
        let times = [Int](repeating: SampleSpool.firstSecond, count: events.count)
        Array("mobile_events".utf8).withUnsafeBytes { collection in
            times.withUnsafeBufferPointer { times in
                events.withUnsafeBufferPointer { events in
                    RequestEncoder(shape: .sharedTimestamp, apiKey: "bench")
                        .encode(collection: collection, timestamps: times, events: events, into: &body)
                }
            }
        }
        return body
    }
}
