// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// A number that only grows, such as events delivered since the start.
package final class Counter: Sendable {
    private let total = Atomic<Int>(0)

    package init() {}

    @inline(__always)
    package func increment(by amount: Int = 1) {
        total.wrappingAdd(amount, ordering: .relaxed)
    }

    package var value: Int { total.load(ordering: .relaxed) }
}

/// A number that goes up and down, such as requests in flight.
package final class Gauge: Sendable {
    private let bits = Atomic<UInt64>(0)

    package init() {}

    package func record(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
    }

    package func record(_ value: Int) { record(Double(value)) }

    package func add(_ amount: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + amount).bitPattern
            let (exchanged, current) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if exchanged { return }
            old = current
        }
    }

    package var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }
}
