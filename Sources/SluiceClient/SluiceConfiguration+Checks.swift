// SPDX-License-Identifier: Apache-2.0
internal import Foundation

extension SluiceConfiguration {
    func check() throws(SluiceError) {
        guard let scheme = endpoint.scheme, ["http", "https"].contains(scheme.lowercased()), endpoint.host != nil else {
            throw SluiceError(.invalidConfiguration, "endpoint is not an http or https address")
        }
        guard folder.isFileURL else { throw SluiceError(.invalidConfiguration, "folder is not a folder's address") }
        try check("appVersion", EnvelopeRules.isVersion(appVersion))
        try check("buildNumber", EnvelopeRules.isVersion(buildNumber))
        try check("platform", EnvelopeRules.isVersion(platform))
        try check("schemaVersion", schemaVersion >= 0)
        let isHeader = clientID.map { $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } && !$0.isEmpty } ?? true
        try check("clientID", isHeader)
        try check("limits.queuedEvents", limits.queuedEvents > 0)
        try check("limits.queuedBytes", limits.queuedBytes >= limits.eventBytes)
        try check("limits.maximumAge", limits.maximumAge > .zero)
        try check("limits.eventBytes", limits.eventBytes > 0)
        try check("limits.batchEvents", limits.batchEvents > 0)
        try check("limits.batchBytes", limits.batchBytes > 0)
        try check("limits.quarantinedEvents", limits.quarantinedEvents >= 0)
        try check("limits.requestDeadline", limits.requestDeadline > .zero)
        try check("limits.sessionTimeout", limits.sessionTimeout > .zero)
    }

    private func check(_ name: String, _ holds: Bool) throws(SluiceError) {
        if !holds { throw SluiceError(.invalidConfiguration, name) }
    }
}

extension Duration {
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
