// SPDX-License-Identifier: Apache-2.0

/// Chunks that wait to be sent: those that may go at once in order, and those that wait for their time.
package struct ChunkQueue {
    private var ring: [Chunk?] = [Chunk?](repeating: nil, count: 64)
    private var head = 0
    /// Chunks that may be sent at once.
    package private(set) var readyCount = 0
    /// Those of them that have never failed.
    private(set) var freshCount = 0
    /// A heap by `notBefore`.
    private var delayed: [Chunk] = []

    var isEmpty: Bool { readyCount == 0 && delayed.isEmpty }

    package mutating func pushBack(_ chunk: Chunk) {
        growIfFull()
        ring[(head + readyCount) & (ring.count - 1)] = chunk
        readyCount += 1
        if chunk.isFresh { freshCount += 1 }
    }

    package mutating func pushFront(_ chunk: Chunk) {
        growIfFull()
        head = (head - 1) & (ring.count - 1)
        ring[head] = chunk
        readyCount += 1
        if chunk.isFresh { freshCount += 1 }
    }

    package mutating func popFront() -> Chunk? {
        guard readyCount > 0, let chunk = ring[head] else { return nil }
        ring[head] = nil
        head = (head + 1) & (ring.count - 1)
        readyCount -= 1
        if chunk.isFresh { freshCount -= 1 }
        return chunk
    }

    /// Brings the ready chunk at `position` (from the front) to the front.
    mutating func bringToFront(_ position: Int) {
        precondition(position < readyCount, "outside the queue")
        ring.swapAt(head, (head + position) & (ring.count - 1))
    }

    func ready(at position: Int) -> Chunk? {
        position < readyCount ? ring[(head + position) & (ring.count - 1)] : nil
    }

    package init() {}

    /// Keeps a chunk until that moment.
    package mutating func delay(_ chunk: Chunk, until moment: Int64) {
        chunk.notBefore = moment
        delayed.append(chunk)
        var place = delayed.count - 1
        while place > 0, delayed[place].notBefore < delayed[(place - 1) / 2].notBefore {
            delayed.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    /// When the next delayed chunk is due, monotonic nanoseconds.
    package var nextDue: Int64? { delayed.first?.notBefore }

    func delayedContains(_ condition: (Chunk) -> Bool) -> Bool { delayed.contains(where: condition) }

    /// Moves delayed chunks whose time has come to the front of the ready ones.
    package mutating func promote(at now: Int64) {
        while let first = delayed.first, first.notBefore <= now {
            let last = delayed.removeLast()
            if !delayed.isEmpty {
                delayed[0] = last
                sink()
            }
            pushFront(first)
        }
    }

    private mutating func sink() {
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < delayed.count && delayed[child].notBefore < delayed[least].notBefore {
                least = child
            }
            if least == place { return }
            delayed.swapAt(place, least)
            place = least
        }
    }

    private mutating func growIfFull() {
        guard readyCount == ring.count else { return }
        var larger = [Chunk?](repeating: nil, count: ring.count * 2)
        for position in 0..<readyCount { larger[position] = ring[(head + position) & (ring.count - 1)] }
        ring = larger
        head = 0
    }
}
