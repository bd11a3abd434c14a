// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
package import SluiceSystem

extension BatchVerdict {
    /// Appends the answer that the client gets: `accepted` ids, `rejected` and `removed` by index.
    ///
    /// What is set aside is accepted for the client: it is durable, and sending it again would change nothing.
    package func appendAnswer(requestID: String, to output: inout ByteBuffer) {
        output.append("{\"request_id\":")
        output.append(jsonString: requestID)
        output.append(",\"accepted\":[")
        var isFirst = true
        for event in events where event.outcome != .rejected {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            output.append(UInt8(ascii: "\""))
            output.append(bytes(event.id))  // an accepted id holds nothing that needs an escape
            output.append(UInt8(ascii: "\""))
        }
        output.append("],\"rejected\":[")
        isFirst = true
        for (index, event) in events.enumerated() where event.outcome == .rejected {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            output.append("{\"index\":")
            output.append(decimal: index)
            output.append(",\"event_id\":")
            if event.id.isEmpty { output.append("null") } else { output.append(jsonString: bytes(event.id)) }
            output.append(",\"code\":\"")
            output.append(event.code.text)
            output.append("\",\"detail\":")
            output.append(jsonString: bytes(event.detail))
            output.append("}")
        }
        output.append("],\"removed\":[")
        isFirst = true
        for (index, event) in events.enumerated() where event.removedCount > 0 && event.outcome != .rejected {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            output.append("{\"index\":")
            output.append(decimal: index)
            output.append(",\"names\":[")
            let first = Int(event.firstRemoved)
            for number in first..<first + Int(event.removedCount) {
                if number > first { output.append(UInt8(ascii: ",")) }
                output.append(jsonString: bytes(removedNames[number]))
            }
            output.append("]}")
        }
        output.append("]}")
    }
}

extension BatchRefusal {
    /// Appends the answer to a body that was refused as a whole.
    package func appendAnswer(requestID: String, to output: inout ByteBuffer) {
        output.append("{\"request_id\":")
        output.append(jsonString: requestID)
        output.append(",\"code\":\"")
        output.append(code.rawValue)
        output.append("\",\"detail\":")
        output.append(jsonString: detail)
        if let byteOffset {
            output.append(",\"byte_offset\":")
            output.append(decimal: byteOffset)
        }
        output.append("}")
    }

    /// The HTTP status that says the same.
    package var status: Int {
        switch code {
        case .tooManyEvents, .bodyTooLarge: 413
        case .outOfMemory: 503
        default: 400
        }
    }
}
