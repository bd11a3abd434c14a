// SPDX-License-Identifier: Apache-2.0
import SluiceRelay
import Testing

struct ChunkQueueTests {
    @Test func `chunks leave in the order they came, those put in front first`() {
        var queue = ChunkQueue()
        let chunks = (0..<200).map { Chunk(family: $0) }
        for chunk in chunks { queue.pushBack(chunk) }
        let first = Chunk(family: 1000)
        queue.pushFront(first)
        var left: [Int] = []
        while let chunk = queue.popFront() { left.append(chunk.family) }
        #expect(left == [1000] + Array(0..<200))
    }

    @Test func `delayed chunks come back when their time has come, the earliest first`() {
        var queue = ChunkQueue()
        let times: [Int64] = [50, 10, 40, 20, 30, 60, 5]
        for time in times {
            let chunk = Chunk(family: Int(time))
            queue.delay(chunk, until: time)
        }
        var order: [Int64] = []
        for now in stride(from: Int64(0), through: 60, by: 1) {
            #expect(queue.nextDue.map { $0 >= now } ?? true)
            queue.promote(at: now)
            while let chunk = queue.popFront() { order.append(Int64(chunk.family)) }
        }
        #expect(order == times.sorted())
    }
}
