// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import Testing

/// The Swift client goes through each scenario as it is written.
struct ScenarioTests {
    private static let scenarios = {
        let names = (try? FileSystem.names(in: "\(Vectors.folder)/scenarios")) ?? []  // the count is tested
        return names.filter { $0.hasSuffix(".json") }.sorted()
    }()

    @Test func `the whole matrix is there`() {
        let matrix = [
            "clean-install", "app-update", "offline-then-reconnect", "backgrounded-during-delivery",
            "terminated-with-queued-events", "duplicate-retry", "expired-low-value", "malformed-property",
            "consent-denied-granted-withdrawn", "anonymous-to-authenticated", "clock-far-ahead", "clock-far-behind",
            "server-400", "server-429", "server-500",
        ]
        for name in matrix { #expect(Self.scenarios.contains("\(name).json"), "\(name) is missing") }
    }

    @Test(.timeLimit(.minutes(5)), arguments: scenarios)
    func `the client follows the script`(file: String) async throws {
        let scenario = try VectorValue(Vectors.bytes("scenarios/\(file)"))
        let differences = try await ScenarioRunner().run(scenario.require("steps").elements)
        #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
    }

    @Test(arguments: ["consent.jsonl", "identity.jsonl"])
    func `each change of consent and identity ends as it should`(file: String) async throws {
        for vector in try Vectors.lines(file) {
            let differences = try await ScenarioRunner().run(vector.require("steps").elements)
            let name = try vector.text("name")
            #expect(differences.isEmpty, "\(name): \(differences.joined(separator: "\n"))")
        }
    }
}
