// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceEvents
import SluiceSystem
import Testing

/// What Apple's rules want of the client library, as far as its text shows it.
struct AppleRulesTests {
    private static let folder = {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        return parts.joined(separator: "/") + "/Sources/SluiceClient"
    }()

    private static func text(_ name: String) throws -> String {
        String(decoding: try FileSystem.contents(of: "\(folder)/\(name)", limit: 1 << 20), as: UTF8.self)
    }

    private static func sources() throws -> [String] {
        try FileSystem.names(in: folder).filter { $0.hasSuffix(".swift") }
    }

    /// Names of the APIs whose use must be given a reason, and of what an SDK must not touch.
    private static let unwanted = [
        // User defaults.
        "UserDefaults", "CFPreferences",
        // Times of files.
        "creationDate", "modificationDate", "contentAccessDate", "attributesOfItem", "getattrlist", "fstat(", "lstat(",
        " stat(",
        // Time since the start.
        "systemUptime", "mach_absolute_time", "ProcessInfo",
        // Room on disk.
        "volumeAvailableCapacity", "volumeTotalCapacity", "systemFreeSize", "systemSize", "statfs", "statvfs",
        // Keyboards, and who the device is.
        "activeInputModes", "identifierForVendor", "ASIdentifierManager", "advertisingIdentifier", "ATTrackingManager",
        // What an extension has not, and what nobody reads.
        "UIKit", "UIApplication", "AppKit", "WatchKit", "print(", "NSLog", "os_log",
    ]

    private static func findings(in text: String) -> [String] {
        let code = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
        return unwanted.filter { code.contains($0) }
    }

    @Test func `no API is used that needs a reason, and none of the user interface`() throws {
        #expect(try Self.sources().count > 20)
        for name in try Self.sources() {
            #expect(try Self.findings(in: Self.text(name)).isEmpty, "\(name)")
        }
    }

    @Test func `the search for unwanted APIs finds them`() {
        #expect(Self.findings(in: "let defaults = UserDefaults.standard") == ["UserDefaults"])
        #expect(Self.findings(in: "    // UserDefaults would be slow\n    stat(path)") == [" stat("])
    }

    // MARK: - The privacy manifest

    private func manifest() throws -> [String: Any] {
        let text = try Self.text("PrivacyInfo.xcprivacy")
        let object = try PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil)
        return try #require(object as? [String: Any])
    }

    @Test func `the privacy manifest has the allowed keys with the right types`() throws {
        let manifest = try manifest()
        let keys = [
            "NSPrivacyTracking", "NSPrivacyTrackingDomains", "NSPrivacyAccessedAPITypes", "NSPrivacyCollectedDataTypes",
        ]
        #expect(Set(manifest.keys) == Set(keys))
        #expect(manifest["NSPrivacyTracking"] as? Bool == false)
        #expect((manifest["NSPrivacyTrackingDomains"] as? [String])?.isEmpty == true)
        #expect((manifest["NSPrivacyAccessedAPITypes"] as? [Any])?.isEmpty == true)
    }

    @Test func `what is collected is declared by Apple's words`() throws {
        let collected = try #require(try manifest()["NSPrivacyCollectedDataTypes"] as? [[String: Any]])
        var types: [String] = []
        for entry in collected {
            let keys = ["", "Linked", "Tracking", "Purposes"].map { "NSPrivacyCollectedDataType\($0)" }
            #expect(Set(entry.keys) == Set(keys))
            types.append(try #require(entry["NSPrivacyCollectedDataType"] as? String))
            #expect(entry["NSPrivacyCollectedDataTypeLinked"] as? Bool == true)
            #expect(entry["NSPrivacyCollectedDataTypeTracking"] as? Bool == false)
            let purposes = entry["NSPrivacyCollectedDataTypePurposes"] as? [String]
            #expect(purposes == ["NSPrivacyCollectedDataTypePurposeAnalytics"])
        }
        #expect(types == ["ProductInteraction", "UserID"].map { "NSPrivacyCollectedDataType\($0)" })
    }

    // MARK: - Words

    @Test func `each reason that the client counts is one that the endpoint counts`() {
        let reasons: [DropReason] = [
            .consent, .invalid, .tooLarge, .overflow, .expired, .storage, .corrupt, .rejected, .malformedProperty,
        ]
        for reason in reasons { #expect(ClientDrops.reasons.contains { "\($0)" == reason.rawValue }, "\(reason)") }
    }
}
