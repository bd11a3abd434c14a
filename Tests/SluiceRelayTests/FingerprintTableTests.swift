// SPDX-License-Identifier: Apache-2.0
import SluiceRelay
import Testing

struct FingerprintTableTests {
    @Test func `a fingerprint is taken once until it is removed`() {
        var table = FingerprintTable()
        let first = table.insert(7)
        let second = table.insert(7)
        #expect(first && !second)
        table.remove(7)
        #expect(table.count == 0)
        let again = table.insert(7)
        #expect(again)
    }

    @Test func `removing one of several in the same run of places loses none of the others`() {
        // All of these start at the same place of a small table.
        let colliding = (1...40).map { UInt64($0) << 40 }
        for removed in colliding {
            var table = FingerprintTable()
            for key in colliding { _ = table.insert(key) }
            table.remove(removed)
            for key in colliding {
                let isNew = table.insert(key)
                #expect(isNew == (key == removed))
            }
        }
    }

    @Test func `it behaves as a set under a long random course`() {
        var generator = SystemRandomNumberGenerator()
        var table = FingerprintTable(capacity: 4)
        var model: Set<UInt64> = []
        for _ in 0..<100_000 {
            let key = UInt64.random(in: 0..<3000, using: &generator) &* 0x0001_0000_0000_0400
            if Bool.random(using: &generator) {
                let isNew = table.insert(key)
                #expect(isNew == model.insert(max(key, 1)).inserted)
            } else {
                table.remove(key)
                model.remove(max(key, 1))
            }
        }
        #expect(table.count == model.count)
    }
}
