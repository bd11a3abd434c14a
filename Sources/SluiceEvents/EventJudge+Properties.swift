// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON

extension EventJudge {
    // MARK: - Experiments

    mutating func checkExperiments(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ contract: Contract,
        _ facts: EventFacts
    ) throws(Rejection) {
        keptExperiments.removeAll()
        if !removedExperiments.isEmpty { removedExperiments.removeAll(keepingCapacity: true) }
        guard index != 0 else { return }
        guard document[index].kind == .object else { throw Rejection(code: .invalidExperiments, field: "experiments") }
        let rejectsUnlisted =
            facts.rule < 0
            ? contract.definition.unlisted == .reject : contract.eventRules[facts.rule].rejectsUnlisted
        var count = 0
        var unlisted: UnsafeRawBufferPointer?
        for member in document.members(of: index) {
            count += 1
            guard count <= Self.maximumExperiments else {
                throw Rejection(code: .invalidExperiments, field: "experiments")
            }
            let name = document.text(document[member.key])
            guard let number = contract.experiments.number(of: name) else {
                unlisted = unlisted ?? name
                removedExperiments.append(Int32(truncatingIfNeeded: member.key))
                continue
            }
            guard isText(document, member.value, limit: 100),
                !document.text(document[member.value]).has(UInt8(ascii: "@"))
            else { throw Rejection(code: .invalidExperiments, name: name) }
            if !keptExperiments.insert(inOrder: KeptMember(number, member.key, member.value)) {
                throw Rejection(code: .duplicateKey, name: name)
            }
        }
        if let twice = firstDuplicate(document, removedExperiments) {
            throw Rejection(code: .duplicateKey, name: twice)
        }
        if let unlisted, rejectsUnlisted { throw Rejection(code: .unlistedProperty, name: unlisted) }
    }

    // MARK: - Properties

    mutating func checkProperties(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ contract: Contract,
        _ facts: EventFacts
    ) throws(Rejection) {
        kept.removeAll()
        if !removedProperties.isEmpty { removedProperties.removeAll(keepingCapacity: true) }
        if index != 0, document[index].kind != .object {
            throw Rejection(code: .invalidProperties, field: "properties")
        }
        guard facts.rule >= 0, contract.schemaVersions.contains(facts.schemaVersion) else {
            if index != 0 { try keepUnknown(document, index, contract) }
            return
        }
        let rule = contract.eventRules.baseAddress.unsafelyUnwrapped + facts.rule
        marks.beginEvent()
        if index != 0 { try checkListed(document, index, rule, facts.schemaVersion) }
        for number in rule.pointee.required where !marks.isKept(number) {
            let property = rule.pointee.properties[number]
            guard let constraint = property.constraint(for: facts.schemaVersion) else { continue }
            if constraint.pointee.isRequired { throw Rejection(code: .invalidProperty, name: property.name) }
        }
    }

    private mutating func checkListed(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ rule: UnsafePointer<EventRule>,
        _ version: Int
    ) throws(Rejection) {
        var count = 0
        for member in document.members(of: index) {
            count += 1
            guard count <= limits.maximumProperties else {
                throw Rejection(code: .tooManyProperties, field: "properties")
            }
            let name = document.text(document[member.key])
            guard let number = rule.pointee.propertyNames.number(of: name),
                let constraint = rule.pointee.properties[number].constraint(for: version)
            else {
                if isForbidden(name) { throw Rejection(code: .forbiddenField, name: name) }
                removedProperties.append(Int32(truncatingIfNeeded: member.key))
                continue
            }
            guard marks.see(number) else { throw Rejection(code: .duplicateKey, name: name) }
            var kept = KeptMember(number, member.key, member.value)
            switch check(document, member.value, constraint, rule.pointee.emailLike, &kept.isNumericString) {
            case .good:
                marks.keep(number)
                _ = self.kept.insert(inOrder: kept)
            case .invalid: throw Rejection(code: .invalidProperty, name: name)
            case .emailLike:
                if rule.pointee.emailLike == .reject { throw Rejection(code: .emailLikeValue, name: name) }
                removedProperties.append(Int32(truncatingIfNeeded: member.key))
            }
        }
        try checkRemoved(document, rejects: rule.pointee.rejectsUnlisted) { name in
            // A listed property that was removed for its value is no unlisted one.
            rule.pointee.propertyNames.number(of: name).flatMap {
                rule.pointee.properties[$0].constraint(for: version)
            } == nil
        }
    }

    private func checkRemoved(
        _ document: borrowing JSONDocument,
        rejects: Bool,
        isUnlisted: (UnsafeRawBufferPointer) -> Bool
    ) throws(Rejection) {
        guard !removedProperties.isEmpty else { return }
        if let twice = firstDuplicate(document, removedProperties) { throw Rejection(code: .duplicateKey, name: twice) }
        guard rejects else { return }
        for key in removedProperties {
            let name = document.text(document[Int(key)])
            if isUnlisted(name) { throw Rejection(code: .unlistedProperty, name: name) }
        }
    }

    /// Keeps the flat properties of an event whose rules are not known, by name; they are judged when they are replayed.
    private mutating func keepUnknown(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ contract: Contract
    ) throws(Rejection) {
        let emailLike = EmailLikePolicy(contract.definition.emailLike)
        var count = 0
        for member in document.members(of: index) {
            count += 1
            guard count <= limits.maximumProperties else {
                throw Rejection(code: .tooManyProperties, field: "properties")
            }
            let name = document.text(document[member.key])
            if isForbidden(name) { throw Rejection(code: .forbiddenField, name: name) }
            let token = document[member.value]
            var isKept = !token.isContainer && token.kind != .null && isText(document, member.key, limit: 100)
            if isKept && token.kind == .string {
                let text = document.text(token)
                isKept = !token.hasEscapes || !text.has(0)
                if emailLike != .allow && text.looksLikeEmail {
                    if emailLike == .reject { throw Rejection(code: .emailLikeValue, name: name) }
                    isKept = false
                }
            }
            if isKept {
                kept.append(KeptMember(-1, member.key, member.value))
            } else {
                removedProperties.append(Int32(truncatingIfNeeded: member.key))
            }
        }
        let keys = removedProperties + (0..<kept.count).map { kept[$0].key }
        if let twice = firstDuplicate(document, keys) { throw Rejection(code: .duplicateKey, name: twice) }
        kept.sort {
            document.text(document[Int($0.key)]).lexicographicallyPrecedes(document.text(document[Int($1.key)]))
        }
    }

    private func isForbidden(_ name: UnsafeRawBufferPointer) -> Bool {
        name.isEqual(to: "token") || name.isEqual(to: "api_key") || name.isEqual(to: "collection")
    }

    // MARK: - Values

    private enum ValueVerdict { case good, invalid, emailLike }

    @inline(__always)
    private func check(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ constraint: UnsafePointer<PropertyConstraint>,
        _ emailLike: EmailLikePolicy,
        _ isNumericString: inout Bool
    ) -> ValueVerdict {
        let token = document[index]
        switch constraint.pointee.type {
        case .boolean:
            return token.isBoolean ? .good : .invalid
        case .number:
            if token.isNumeric {
                guard constraint.pointee.hasRange || constraint.pointee.hasChoices else { return .good }
                return isInside(document.double(token), constraint) ? .good : .invalid
            }
            guard constraint.pointee.acceptsNumericString, token.kind == .string else { return .invalid }
            let text = document.text(token)
            guard JSONNumber.isKept(text), isInside(JSONNumber.double(text), constraint) else { return .invalid }
            isNumericString = true
            return .good
        case .string:
            guard token.kind == .string else { return .invalid }
            let text = document.text(token)
            if token.hasEscapes && text.has(0) { return .invalid }
            guard text.hasAtMost(scalars: constraint.pointee.maximumLength) else { return .invalid }
            if constraint.pointee.hasChoices {
                // A choice is the contract's own word, whatever it looks like.
                return constraint.pointee.strings.number(of: text) == nil ? .invalid : .good
            }
            return emailLike != .allow && text.looksLikeEmail ? .emailLike : .good
        }
    }

    private func isInside(_ value: Double, _ constraint: UnsafePointer<PropertyConstraint>) -> Bool {
        guard value >= constraint.pointee.minimum, value <= constraint.pointee.maximum else { return false }
        return !constraint.pointee.hasChoices || constraint.pointee.numbers.contains(value)
    }
}
