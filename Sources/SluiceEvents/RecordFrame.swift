// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

/// The texts of a record that are the same for all events of a batch, in the form they are written in.
struct RecordFrame: ~Copyable {
    private var buffer = ByteBuffer(capacity: 512)
    private var headEnd = 0
    private var collectionEnd = 0
    private var environmentEnd = 0
    private var clientEnd = 0
    private var userEnd = 0
    private var platformEnd = 0
    private(set) var receivedAt = 0
    /// Numbers of the client's defaults in the contract; -1 for those of all other clients.
    private(set) var client = -1

    /// The record's beginning, `{"received_at":…,"collection":`.
    var head: UnsafeRawBufferPointer { range(0, headEnd) }
    /// The collection as a JSON string.
    var collection: UnsafeRawBufferPointer { range(headEnd, collectionEnd) }
    /// `,"environment":…` and `,"source":"server"`, where they apply.
    var environment: UnsafeRawBufferPointer { range(collectionEnd, environmentEnd) }
    /// `"client":…`, or nothing.
    var clientMember: UnsafeRawBufferPointer { range(environmentEnd, clientEnd) }
    /// `"user_id":…,"account_id":…` of the user who is vouched for, or nothing.
    var user: UnsafeRawBufferPointer { range(clientEnd, userEnd) }
    /// The platform that overrides the event's, as a JSON string, or nothing.
    var platform: UnsafeRawBufferPointer { range(userEnd, platformEnd) }
    /// Bytes of all of them.
    var count: Int { buffer.count }

    private func range(_ start: Int, _ end: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: buffer.bytes[start..<end])
    }

    mutating func prepare(_ admission: borrowing Admission, _ contract: Contract) {
        buffer.removeAll()
        receivedAt = admission.receivedAt
        buffer.append("{\"received_at\":")
        buffer.append(decimal: admission.receivedAt)
        buffer.append(",\"collection\":")
        headEnd = buffer.count
        buffer.append(jsonString: admission.collection)
        collectionEnd = buffer.count
        if let environment = admission.environment {
            buffer.append(",\"environment\":")
            buffer.append(jsonString: environment)
        }
        if admission.isServer { buffer.append(",\"source\":\"server\"") }
        environmentEnd = buffer.count
        client = -1
        if let name = admission.client {
            buffer.append("\"client\":")
            buffer.append(jsonString: name)
            var name = name
            client = name.withUTF8 { contract.clients.number(of: UnsafeRawBufferPointer($0)) } ?? -1
        }
        clientEnd = buffer.count
        if let user = admission.user {
            buffer.append("\"user_id\":")
            user.id.withUnsafeBytes { buffer.append(jsonString: $0) }
            if let account = user.account {
                buffer.append(",\"account_id\":")
                account.withUnsafeBytes { buffer.append(jsonString: $0) }
            }
        }
        userEnd = buffer.count
        if let platform = admission.platform { buffer.append(jsonString: platform) }
        platformEnd = buffer.count
    }
}
