// SPDX-License-Identifier: Apache-2.0

extension ContractComparison {
    typealias Property = ContractDefinition.Property

    /// Compares the rules that two contracts have for one property in one range of schema versions.
    ///
    /// * `wasRemoved`: whether a value was removed where the old contract did not list it.
    /// * `range`: the range in words, empty when it is all there is.
    mutating func compare(
        _ before: Property?,
        _ after: Property?,
        of event: ContractDefinition.Event,
        wasRemoved: Bool,
        in range: String
    ) {
        switch (before, after) {
        case (nil, nil): break
        case (let before?, nil):
            let fate = event.unlisted == .reject ? "events with it are refused" : "it is removed from events"
            note(.breaks, Self.path(before, event), "gone: \(fate)\(range)")
        case (nil, let after?):
            let path = Self.path(after, event)
            if after.isRequired {
                note(.breaks, "\(path).required", "new and required: events without it are refused\(range)")
            } else {
                let fate = wasRemoved ? "it was removed from events before" : "events with it were refused before"
                note(.widens, path, "new: \(fate)\(range)")
            }
        case (let before?, let after?): compare(before, after, Self.path(after, event), range)
        }
    }

    private static func path(_ property: Property, _ event: ContractDefinition.Event) -> String {
        property.isCommon
            ? "common_properties.\(property.name)" : "events.\(event.name).properties.\(property.name)"
    }

    private mutating func compare(_ before: Property, _ after: Property, _ path: String, _ range: String) {
        guard before.type == after.type else {
            return note(.breaks, "\(path).type", "\(after.type.rawValue), was \(before.type.rawValue)\(range)")
        }
        if after.isRequired && !before.isRequired {
            note(.breaks, "\(path).required", "true, was false: events without it are refused\(range)")
        } else if before.isRequired && !after.isRequired {
            note(.widens, "\(path).required", "false, was true\(range)")
        }
        if before.acceptsNumericString != after.acceptsNumericString {
            let effect = after.acceptsNumericString ? Change.Effect.widens : .breaks
            let text = "\(after.acceptsNumericString), was \(before.acceptsNumericString)\(range)"
            note(effect, "\(path).accept_numeric_string", text)
        }
        compareChoices(
            before.oneOfStrings.map { Choice(text: $0, bytes: Array($0.utf8)) },
            after.oneOfStrings.map { Choice(text: $0, bytes: Array($0.utf8)) },
            path,
            range
        )
        compareChoices(
            before.oneOfNumbers.map { Choice(text: Self.text($0), bytes: Array(Self.text($0).utf8)) },
            after.oneOfNumbers.map { Choice(text: Self.text($0), bytes: Array(Self.text($0).utf8)) },
            path,
            range
        )
        compareLimits(before, after, path, range)
    }

    private struct Choice: Equatable {
        var text: String
        var bytes: [UInt8]

        static func == (left: Choice, right: Choice) -> Bool { left.bytes == right.bytes }
    }

    /// An empty list takes everything.
    private mutating func compareChoices(_ before: [Choice], _ after: [Choice], _ path: String, _ range: String) {
        let path = "\(path).one_of"
        switch (before.isEmpty, after.isEmpty) {
        case (true, true): break
        case (true, false): note(.breaks, path, "new: other values than \(Self.list(after)) are refused\(range)")
        case (false, true): note(.widens, path, "gone: every value is taken\(range)")
        case (false, false):
            let lost = before.filter { !after.contains($0) }
            let won = after.filter { !before.contains($0) }
            if !lost.isEmpty { note(.breaks, path, "\(Self.list(lost)) gone: events with it are refused\(range)") }
            if !won.isEmpty { note(.widens, path, "\(Self.list(won)) new\(range)") }
        }
    }

    private static func list(_ choices: [Choice]) -> String {
        let shown = choices.prefix(10).map { "\"\($0.text)\"" }.joined(separator: ", ")
        return choices.count > 10 ? "\(shown) and \(choices.count - 10) more" : shown
    }

    private mutating func compareLimits(_ before: Property, _ after: Property, _ path: String, _ range: String) {
        // What one_of allowed is a limit as well.
        let longest = before.oneOfStrings.map(\.unicodeScalars.count).max().map(Double.init)
        compareLimit(
            "\(path).max_length",
            before.maximumLength.map(Double.init),
            after.maximumLength.map(Double.init),
            reached: longest,
            isUpper: true,
            range
        )
        let (least, most) = (before.oneOfNumbers.min(), before.oneOfNumbers.max())
        compareLimit("\(path).min", before.minimum, after.minimum, reached: least, isUpper: false, range)
        compareLimit("\(path).max", before.maximum, after.maximum, reached: most, isUpper: true, range)
    }

    /// * `reached`: the furthest value that the old rule took at all, when it lists its values.
    private mutating func compareLimit(
        _ path: String,
        _ before: Double?,
        _ after: Double?,
        reached: Double?,
        isUpper: Bool,
        _ range: String
    ) {
        guard before != after else { return }
        let text =
            "\(after.map(Self.text) ?? "none"), was \(before.map(Self.text) ?? "none")\(range)"
        let open = isUpper ? Double.infinity : -.infinity
        let limits = (before: before ?? open, after: after ?? open)
        let used = reached ?? limits.before
        let narrows = isUpper ? limits.after < min(used, limits.before) : limits.after > max(used, limits.before)
        let widens = isUpper ? limits.after > limits.before : limits.after < limits.before
        if narrows {
            note(.breaks, path, text)
        } else if widens {
            note(.widens, path, text)
        }
    }

    private static func text(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e15 ? "\(Int(number))" : "\(number)"
    }
}
