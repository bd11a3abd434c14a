// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
package import SluiceSystem

/// Writes the bodies of logging requests.
///
/// `json` and the elements of `jsons` are strings that hold JSON, so an event is escaped twice on the wire; it comes
/// here with the outer escaping done and is copied as it is.
package struct RequestEncoder: Sendable {
    package let shape: BulkShape
    /// The body up to the collection, with the key in it.
    private let opening: [UInt8]

    package init(shape: BulkShape, apiKey: String) {
        self.shape = shape
        var buffer = ByteBuffer()
        buffer.append("{\"api_key\":")
        buffer.append(jsonString: apiKey)
        buffer.append(",\"collection\":")
        opening = Array(buffer.bytes)
    }

    /// Appends the body of one request to `buffer`.
    ///
    /// - Parameters:
    ///   - collection: UTF-8, not yet escaped.
    ///   - timestamps: Unix seconds for each event; only the first counts in the shapes that need them equal.
    ///   - events: JSON text of each event, escaped for the inside of a JSON string, without quotes; 1 to
    ///     `shape.maximumEvents`.
    ///   - buffer: the body is appended to what it holds.
    package func encode(
        collection: UnsafeRawBufferPointer,
        timestamps: UnsafeBufferPointer<Int>,
        events: UnsafeBufferPointer<UnsafeRawBufferPointer>,
        into buffer: inout ByteBuffer
    ) {
        precondition(!events.isEmpty && events.count <= shape.maximumEvents, "a request holds 1 to 50 events")
        precondition(timestamps.count == events.count, "a timestamp for each event")
        var textBytes = 0
        for event in events { textBytes += event.count }
        buffer.reserve(
            byteCountLimit(collectionBytes: collection.count, eventCount: events.count, textBytes: textBytes)
        )
        buffer.append(opening)
        buffer.append(jsonString: collection)
        switch shape {
        case .single:
            buffer.append(",\"timestamp\":")
            buffer.append(decimal: timestamps[0])
            buffer.append(",\"json\":\"")
            buffer.append(events[0])
            buffer.append("\"}")
        case .sharedTimestamp:
            buffer.append(",\"timestamp\":")
            buffer.append(decimal: timestamps[0])
            appendEvents(events, to: &buffer)
        case .timestamps:
            buffer.append(",\"timestamps\":[")
            for index in timestamps.indices {
                if index > 0 { buffer.append(UInt8(ascii: ",")) }
                buffer.append(decimal: timestamps[index])
            }
            buffer.append("]")
            appendEvents(events, to: &buffer)
        }
    }

    private func appendEvents(
        _ events: UnsafeBufferPointer<UnsafeRawBufferPointer>,
        to buffer: inout ByteBuffer
    ) {
        buffer.append(",\"jsons\":[\"")
        for index in events.indices {
            if index > 0 { buffer.append("\",\"") }
            buffer.append(events[index])
        }
        buffer.append("\"]}")
    }

    /// At least as many bytes as a body with these parts has; `textBytes` is the sum of the escaped event texts.
    package func byteCountLimit(collectionBytes: Int, eventCount: Int, textBytes: Int) -> Int {
        opening.count + 6 * collectionBytes + 64 + textBytes + eventCount * (shape == .timestamps ? 24 : 3)
    }
}
