// SPDX-License-Identifier: Apache-2.0
package import SluiceEvents
internal import SluiceJSON
internal import SluiceSpool
internal import SluiceSystem

/// What an event is known by, whoever sends it how often: its collection and envelope, the time of sending left out.
package struct EventIdentity: ~Copyable {
    private var bytes = ByteBuffer(capacity: 64 << 10)

    package init() {}

    /// The fingerprint of a record's event, as the duplicate window with this seed knows it.
    package mutating func fingerprint(of record: borrowing SpooledRecord, seed: UInt64) -> UInt64 {
        let document = record.document
        let envelope = document[record.envelope]
        bytes.removeAll()
        bytes.append(document.text(document[record.collection]))
        bytes.append(0)
        let source = document.raw(envelope)
        if let sentAt = document.value(of: "client_sent_at", in: record.envelope) {
            // Every sending of an event says another time: it is left out, with the comma behind it.
            let start = Int(document[sentAt - 1].start - envelope.start) - 1
            let next = document[sentAt].next
            let isLast = next >= envelope.next
            let end = isLast ? source.count - 1 : Int(document[Int(next)].start - envelope.start) - 1
            bytes.append(UnsafeRawBufferPointer(rebasing: source[..<start]))
            bytes.append(UnsafeRawBufferPointer(rebasing: source[end...]))
        } else {
            bytes.append(source)
        }
        return DuplicateWindow.fingerprint(bytes.bytes, seed: seed)
    }
}
