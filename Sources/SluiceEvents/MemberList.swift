// SPDX-License-Identifier: Apache-2.0

/// A property or experiment that stays.
struct KeptMember: BitwiseCopyable {
    /// The rule's or the experiment's number; -1 for a member that no rule is known for.
    var number: Int32
    /// Token of the key.
    var key: Int32
    /// Token of the value.
    var value: Int32
    /// Whether the value is a string to be written as the number that it holds.
    var isNumericString = false

    @inline(__always)
    init(_ number: Int, _ key: Int, _ value: Int) {
        self.number = Int32(truncatingIfNeeded: number)
        self.key = Int32(truncatingIfNeeded: key)
        self.value = Int32(truncatingIfNeeded: value)
    }
}

/// The members of the event at hand that stay, in memory of its own that is filled again for each event.
struct MemberList: ~Copyable {
    private let base: UnsafeMutablePointer<KeptMember>
    private let capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        base = .allocate(capacity: max(capacity, 1))
    }

    deinit { base.deallocate() }

    @inline(__always)
    subscript(index: Int) -> KeptMember {
        assert(index >= 0 && index < count, "no such member")
        return base[index]
    }

    @inline(__always)
    mutating func removeAll() { count = 0 }

    @inline(__always)
    mutating func append(_ member: KeptMember) {
        precondition(count < capacity, "more members than an event may have")
        base[count] = member
        count += 1
    }

    /// Puts a member at its number's place.
    ///
    /// - Returns: false when the number is there already.
    @inline(__always)
    mutating func insert(inOrder member: KeptMember) -> Bool {
        precondition(count < capacity, "more members than an event may have")
        var place = count
        while place > 0, base[place - 1].number >= member.number {
            if base[place - 1].number == member.number { return false }
            place -= 1
        }
        var index = count
        while index > place {
            base[index] = base[index - 1]
            index -= 1
        }
        base[place] = member
        count += 1
        return true
    }

    mutating func sort(by isBefore: (KeptMember, KeptMember) -> Bool) {
        var members = UnsafeMutableBufferPointer(start: base, count: count)
        members.sort(by: isBefore)
    }
}

/// Which properties of a rule the event at hand has shown, without clearing anything between events.
struct PropertyMarks: ~Copyable {
    /// By a property's number: twice the serial number of the event that it was last seen in, plus 1 if it was kept.
    private var marks: UnsafeMutablePointer<UInt32>
    private var capacity: Int
    private var serial: UInt32 = 0

    init() {
        capacity = 64
        marks = .allocate(capacity: capacity)
        marks.initialize(repeating: 0, count: capacity)
    }

    deinit { marks.deallocate() }

    mutating func makeRoom(for properties: Int) {
        guard properties > capacity else { return }
        marks.deallocate()
        capacity = properties
        marks = .allocate(capacity: capacity)
        marks.initialize(repeating: 0, count: capacity)
        serial = 0
    }

    @inline(__always)
    mutating func beginEvent() {
        serial += 1
        if serial == UInt32.max / 2 {
            marks.update(repeating: 0, count: capacity)
            serial = 1
        }
    }

    /// Marks a property as seen.
    ///
    /// - Returns: false when it was seen already.
    @inline(__always)
    mutating func see(_ number: Int) -> Bool {
        assert(number < capacity, "no room was made")
        if marks[number] >= 2 * serial { return false }
        marks[number] = 2 * serial
        return true
    }

    @inline(__always)
    mutating func keep(_ number: Int) { marks[number] = 2 * serial + 1 }

    @inline(__always)
    func isKept(_ number: Int) -> Bool { marks[number] == 2 * serial + 1 }
}
