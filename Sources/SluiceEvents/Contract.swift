// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

/// A contract ready for judging events: its names in byte-keyed tables, its texts in the form they are written in.
///
/// `@unchecked Sendable`: the tables are filled in `init`, before anybody else can see the object; afterwards nothing
/// writes to them, and the arena frees them only when the last reference to the contract is gone.
package final class Contract: @unchecked Sendable {
    package let definition: ContractDefinition
    /// 64-bit FNV-1a of the file's bytes in 16 hexadecimal digits: tells files apart, proves nothing.
    package let hash: String
    package var version: String { definition.version }

    /// Names in the order of their numbers, for metrics: an event's number in a verdict is its place here.
    package var eventNames: [String] { definition.events.map(\.name) }

    private let arena = Arena()
    let events: NameIndex
    let eventRules: UnsafeBufferPointer<EventRule>
    let platforms: NameIndex
    let clients: NameIndex
    let clientDefaults: UnsafeBufferPointer<ClientDefaults>
    /// What holds for clients without defaults of their own.
    let otherDefaults: ClientDefaults
    let experiments: NameIndex
    /// Each experiment's name as a JSON key with its colon.
    let experimentKeys: UnsafeBufferPointer<UnsafeRawBufferPointer>
    /// The record's member that names this contract, with a comma in front.
    let recordMember: UnsafeRawBufferPointer
    let schemaVersions: ClosedRange<Int>
    /// The platform of server events as a JSON string.
    let serverPlatform: UnsafeRawBufferPointer
    /// The most properties that one event lists.
    let maximumPropertyCount: Int
    /// No more bytes than this of a record come from the contract and not from the event.
    let maximumRecordText: Int

    /// Reads a contract.
    ///
    /// - Parameters:
    ///   - text: JSON5.
    ///   - file: what to call it in problems.
    /// - Throws: every problem of the text.
    package convenience init(parsing text: [UInt8], file: String) throws(ContractError) {
        let root: JSON5
        do throws(JSON5Error) {
            root = try JSON5(parsing: text)
        } catch {
            let problem = ContractError.Problem(
                path: "",
                line: error.line,
                text: "column \(error.column): \(error.reason)"
            )
            throw ContractError(file: file, problems: [problem])
        }
        var reader = ContractReader()
        let definition = reader.read(root)
        if !reader.problems.isEmpty { throw ContractError(file: file, problems: reader.problems) }
        self.init(definition, hash: fingerprint(of: text))
    }

    /// Reads a contract file of at most 4 MiB.
    ///
    /// - Throws: every problem, also that the file cannot be read.
    package convenience init(file: String) throws(ContractError) {
        let text: [UInt8]
        do throws(SystemError) {
            text = try FileSystem.contents(of: file, limit: 4 << 20, followLinks: true)
        } catch {
            let problem = ContractError.Problem(path: "", line: 0, text: "the contract cannot be read: \(error.reason)")
            throw ContractError(file: file, problems: [problem])
        }
        try self.init(parsing: text, file: file)
    }

    init(_ definition: ContractDefinition, hash: String) {
        self.definition = definition
        self.hash = hash
        schemaVersions = definition.schemaVersions
        events = NameIndex(definition.events.map(\.name), in: arena)
        let compiler = ContractCompiler(arena: arena, definition: definition)
        let rules = definition.events.map { compiler.rule(for: $0) }
        eventRules = arena.array(rules)
        maximumPropertyCount = rules.map(\.properties.count).max() ?? 0
        platforms = NameIndex(definition.platforms, in: arena)
        let named = definition.defaults.filter { $0.client != "*" }
        clients = NameIndex(named.map(\.client), in: arena)
        let other = definition.defaults.first { $0.client == "*" }
        otherDefaults = compiler.defaults(other, else: nil)
        clientDefaults = arena.array(named.map { compiler.defaults($0, else: other) })
        let names = definition.experiments.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        experiments = NameIndex(names, in: arena)
        experimentKeys = arena.array(names.map { compiler.key($0) })
        var member = ByteBuffer()
        member.append(",\"contract\":{\"version\":")
        member.append(jsonString: definition.version)
        member.append(",\"hash\":")
        member.append(jsonString: hash)
        member.append("}")
        recordMember = arena.text(member.bytes)
        serverPlatform = arena.text("\"\(ContractDefinition.serverPlatform)\"")
        let platforms = [otherDefaults.platform.count] + clientDefaults.map(\.platform.count)
        let collections = [0] + rules.map(\.collection.count)
        maximumRecordText = member.count + (platforms.max() ?? 0) + (collections.max() ?? 0)
    }
}

/// 64-bit FNV-1a in hexadecimal digits.
private func fingerprint(of text: [UInt8]) -> String {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}
