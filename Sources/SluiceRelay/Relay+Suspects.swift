// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem

/// Records that fail again and again while others get through: counted over all runs, so that drains which end before
/// an hour is over give them up as a running relay does.
extension Relay {
    func takeSuspects(of gate: Gate) {
        suspects = Dictionary(gate.suspects.map { ($0.place, $0) }) { first, _ in first }
    }

    /// A chunk of its own for a record that is known to fail; nil for all others.
    func suspectChunk(for record: RecordReference, _ key: Chunk.Key, _ now: Int64) -> Chunk? {
        guard !suspects.isEmpty, let suspect = suspects[place(of: record)] else { return nil }
        let elapsed = max(0, clock.wallMilliseconds() - suspect.sinceMilliseconds)
        let chunk = grouper.make()
        chunk.key = key
        chunk.openedAt = now
        chunk.resume(failures: suspect.failures, firstFailureAt: now - elapsed * 1_000_000)
        return chunk
    }

    /// Notes for later runs that a record has failed alone once more.
    func noteSuspect(_ chunk: Chunk, _ now: Int64) {
        guard destination.isSuspect(chunk) else { return }
        let place = place(of: chunk.records[0])
        guard suspects[place] != nil || suspects.count < Gate.maximumSuspects else { return }
        let since = clock.wallMilliseconds() - (now - chunk.firstFailureAt) / 1_000_000
        let suspect = Gate.Suspect(place: place, failures: chunk.failuresAlone, sinceMilliseconds: since)
        changeSuspects { list in
            if let known = list.firstIndex(where: { $0.place == place }) {
                list[known] = suspect
            } else if list.count < Gate.maximumSuspects {
                list.append(suspect)
            }
        }
    }

    /// Forgets records that came to an outcome.
    func forgetSuspects(_ records: [RecordReference]) {
        let places = records.map { place(of: $0) }.filter { suspects[$0] != nil }
        guard !places.isEmpty else { return }
        changeSuspects { list in list.removeAll { places.contains($0.place) } }
    }

    /// Forgets records whose outcome another relay did not come to note here.
    func forgetFinishedSuspects() {
        var gone: Set<SegmentName> = []
        for segment in Set(suspects.keys.map(\.segment)) {
            do throws(SpoolError) {
                guard case .sealed = try ledger.standing(of: segment) else {
                    gone.insert(segment)
                    continue
                }
            } catch {
                return  // the ledger's fault is told where it is written
            }
        }
        if !gone.isEmpty { changeSuspects { list in list.removeAll { gone.contains($0.place.segment) } } }
    }

    private func changeSuspects(_ change: (inout [Gate.Suspect]) -> Void) {
        do throws(SpoolError) {
            let gate = try gateFile.update(destination: destinationNumber) { change(&$0.suspects) }
            takeSuspects(of: gate)
            worked(.gate)
        } catch {
            failed(.gate, error)
        }
    }
}
