// SPDX-License-Identifier: Apache-2.0

/// Gathers events that may share a request: one open chunk for each collection and timestamp.
struct Grouper {
    private var open: [Chunk.Key: Chunk] = [:]
    /// The chunk that took the last event; events come in runs of one second.
    private var last: Chunk?
    /// Open chunks by age, linked through `younger` and `older`.
    private var oldest: Chunk?
    private var youngest: Chunk?
    private var pool: [Chunk] = []
    private var nextFamily = 0

    var isEmpty: Bool { open.isEmpty }

    /// The open chunk of `key`, a new one if there is none.
    mutating func chunk(for key: Chunk.Key, at now: Int64) -> Chunk {
        if let last, last.key == key { return last }
        if let known = open[key] {
            last = known
            return known
        }
        let chunk = make()
        chunk.key = key
        chunk.openedAt = now
        open[key] = chunk
        chunk.older = youngest
        youngest?.younger = chunk
        youngest = chunk
        if oldest == nil { oldest = chunk }
        last = chunk
        return chunk
    }

    /// Takes an open chunk out, so that it can be sent.
    mutating func close(_ chunk: Chunk) {
        if last === chunk { last = nil }
        open[chunk.key] = nil
        if let older = chunk.older { older.younger = chunk.younger } else { oldest = chunk.younger }
        if let younger = chunk.younger { younger.older = chunk.older } else { youngest = chunk.older }
        (chunk.older, chunk.younger) = (nil, nil)
    }

    /// The open chunk whose first event has waited longest.
    var oldestOpen: Chunk? { oldest }

    /// An empty chunk of a family of its own.
    mutating func make() -> Chunk {
        let chunk = pool.popLast() ?? Chunk()
        nextFamily += 1
        chunk.family = nextFamily
        return chunk
    }

    /// Takes back a chunk whose records are all resolved or moved elsewhere.
    mutating func recycle(_ chunk: Chunk) {
        chunk.reset()
        if pool.count < 256 { pool.append(chunk) }
    }
}
