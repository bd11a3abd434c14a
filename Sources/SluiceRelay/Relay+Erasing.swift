// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceJSON
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry

/// Records of persons who are to be forgotten: dropped when they are read, before they are sent, and before they would
/// go to quarantine; taken out of quarantine where they went there earlier.
///
/// The list is looked at in each turn of the loop and once more before requests go out. Chunks remember under which
/// state of the list their records came in; one that is older is looked through before anything becomes of it.
extension Relay {
    private static let sweepInterval: Int64 = 10_000_000_000

    /// Takes over what was added to the list.
    ///
    /// - Throws: when the list does not verify; then nothing more may be sent.
    func refreshErasures() throws(SpoolError) {
        guard try erasures.refresh() else { return }
        logger.notice("List of erased persons read", metadata: ["persons": .integer(erasures.book.entries.count)])
    }

    /// Whether a record that was just read is to be forgotten.
    @inline(__always)
    func isErased(_ spooled: borrowing SpooledRecord) -> Bool {
        guard !erasures.book.isEmpty else { return false }
        return erasures.book.covers(
            spooled.document,
            receivedAt: spooled.receivedAt,
            trusted: spooled.trusted,
            anonymousID: spooled.anonymousID
        )
    }

    /// Drops records of a chunk that the list has come to name since they were read.
    func eraseSome(of chunk: Chunk) {
        guard chunk.erasureGeneration != erasures.generation else { return }
        chunk.erasureGeneration = erasures.generation
        guard !erasures.book.isEmpty else { return }
        let erased = (0..<chunk.count).filter { isErased(eventText: chunk.text($0)) }
        guard !erased.isEmpty else { return }
        var next = erased[...]
        resolveSome(of: chunk, .erased) { index in
            guard next.first == index else { return false }
            next.removeFirst()
            return true
        }
    }

    /// Looks at an event as it stands inside a JSON string.
    private func isErased(eventText text: UnsafeRawBufferPointer) -> Bool {
        unescaped.removeAll()
        var index = 0
        while index < text.count {
            // Quotes and backslashes alone are escaped, each by one backslash.
            if text[index] == UInt8(ascii: "\\") && index + 1 < text.count { index += 1 }
            unescaped.append(text[index])
            index += 1
        }
        guard let document = try? parser.parse(unescaped.bytes) else { return false }  // it was made from a parsed one
        return erasures.book.covers(event: document)
    }

    // MARK: Quarantine

    /// Notes whether finished segments may have left records of listed persons in quarantine.
    ///
    /// To be asked behind their `finished` lines: an erasure that finds no such line leaves their files alone, and has
    /// listed its persons before.
    func considerSweep(after finished: [ClaimedSegment]) throws(SpoolError) {
        let suspects = finished.filter { $0.quarantine?.isEmpty == false }
        guard !suspects.isEmpty else { return }
        try refreshErasures()
        guard !erasures.book.isEmpty else { return }
        if !erasures.book.isSwept || suspects.contains(where: { $0.erasureGeneration != erasures.generation }) {
            wantsSweep = true
        }
    }

    /// Takes records of listed persons out of quarantine, where a relay was still busy with them at the time of the
    /// request.
    ///
    /// What finds no room or no time now is done by the next start, or by the next erasure.
    func sweepQuarantine(_ now: Int64) {
        guard wantsSweep, now >= nextSweepAt else { return }
        wantsSweep = false
        nextSweepAt = now == .max ? .max : now + Self.sweepInterval
        let startedAt = clock.wallSeconds
        var seen = 0
        do throws(SpoolError) {
            let editor = QuarantineEditor(in: folder, ledger: ledger, clock: clock)
            let report = try editor.run(.erase) { (item, _) throws(SpoolError) in
                seen += 1
                if seen % 1024 == 0 { heartbeat?.beat() }
                guard let record = item.recordToken else { return .leave }
                return erasures.book.covers(item.document, record: record) ? .take : .leave
            }
            if report.taken > 0 {
                logger.notice(
                    "Records of erased persons removed from quarantine",
                    metadata: ["records": .integer(report.taken)]
                )
            }
            if report.busyFiles.isEmpty { try erasures.markSwept(at: startedAt) }
        } catch {
            if error.code == .locked { wantsSweep = true }
            logger.warning("Quarantine not looked through", metadata: ["error": .string(error.description)])
        }
    }
}
