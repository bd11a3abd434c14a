// SPDX-License-Identifier: Apache-2.0

/// One thing that is fed with arbitrary bytes, and what must hold whatever they are.
///
/// A check is a function of its input alone: the same bytes give the same end, whatever was checked before. It must not
/// crash, read past its input, take long or much memory, and it throws a `FuzzFinding` when a property does not hold.
package struct FuzzTarget: Sendable {
    package typealias Check = (UnsafeRawBufferPointer) throws -> Void

    /// The folder of its inputs, and what the command line calls it.
    package let name: String
    /// What is checked, in one sentence.
    package let subject: String
    /// Longer inputs prove nothing that shorter ones do not.
    package let maximumBytes: Int
    /// Makes the check; whatever it keeps is used for one input after the other.
    package let prepare: @Sendable () throws -> Check

    private init(
        _ name: String,
        _ maximumBytes: Int,
        _ subject: String,
        _ prepare: @escaping @Sendable () throws -> Check
    ) {
        self.name = name
        self.subject = subject
        self.maximumBytes = maximumBytes
        self.prepare = prepare
    }

    /// All targets, in the order of data's way through the product.
    package static let all: [FuzzTarget] = [
        FuzzTarget("head", 2048, "request head fields, networks and the claims of tokens") {
            let fuzz = HeadFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("json", 4096, "JSON documents against a plain reader of RFC 8259") {
            let fuzz = JSONFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("body", 8192, "request bodies, plain and gzip, and the records that are made of them") {
            let fuzz = try BodyFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("segment", 8192, "segment files, as they are and assembled of whole and broken parts") {
            let fuzz = SegmentFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("ledger", 4096, "the ledger, read in pieces, twice, torn and folded") {
            let fuzz = try LedgerFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("progress", 2048, "progress files against a plain list of their entries") {
            let fuzz = try ProgressFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("gate", 4096, "the gate file") {
            let fuzz = try GateFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("duplicates", 16 << 10, "the duplicate window's file") {
            let fuzz = try DuplicatesFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("record", 4096, "spooled records on their way to the destination and back from quarantine") {
            let fuzz = try RecordFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("quarantine", 4096, "the lines of quarantine files") {
            let fuzz = QuarantineFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("erasure", 2048, "the list of erased persons") {
            let fuzz = try ErasureFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("damage", 8192, "the search for a person in damaged bytes") {
            let fuzz = try DamageFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("answer", 4096, "the destination's answers") {
            let fuzz = AnswerFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("json5", 2048, "JSON5 texts against a plain reader of JSON") {
            let fuzz = JSON5Fuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("contract", 4096, "contract files, and a judge that goes by them") {
            let fuzz = try ContractFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("configuration", 4096, "configuration files and variables") {
            let fuzz = ConfigurationFuzz()
            return { try fuzz.check($0) }
        },
        FuzzTarget("relay", 8192, "a drain of one segment, from the claim to the books") {
            let fuzz = RelayFuzz()
            return { try fuzz.check($0) }
        },
    ]

    /// The target of that name.
    package static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// A property that does not hold for an input.
package struct FuzzFinding: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    init(_ description: String) { self.description = description }
}

/// Throws a finding unless the condition holds.
func hold(_ condition: @autoclosure () throws -> Bool, _ property: @autoclosure () -> String) throws {
    guard try condition() else { throw FuzzFinding(property()) }
}

/// The value, or a finding when there is none.
func need<Value>(_ value: @autoclosure () throws -> Value?, _ property: @autoclosure () -> String) throws -> Value {
    guard let value = try value() else { throw FuzzFinding(property()) }
    return value
}
