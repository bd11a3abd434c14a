// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceJSON
import SluiceSystem
import Testing

/// nst/JSONTestSuite, read where it lies; these tests are skipped by name when it is not there.
struct JSONTestSuiteTests {
    private static let folder =
        ProcessInfo.processInfo.environment["SLUICE_TEST_VECTORS"].map { $0 + "/JSONTestSuite" }
        ?? URL(filePath: #filePath).appending(path: "../../../../shared/vectors/JSONTestSuite").standardized.path()

    // Empty where the folder is absent.
    private static let names = ((try? FileSystem.names(in: folder)) ?? []).filter { $0.hasSuffix(".json") }

    private func parse(_ name: String) throws -> JSONError? {
        let bytes = try FileSystem.contents(of: Self.folder + "/" + name, limit: 1 << 20)
        var buffer = ByteBuffer()
        buffer.append(bytes)
        do throws(JSONError) {
            _ = try JSONParser(maximumBytes: 1 << 20).parse(buffer.bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        .enabled(if: !names.isEmpty, "the vectors folder is not present"),
        arguments: names.filter { $0.hasPrefix("y_") }
    )
    func `what must be taken is taken`(name: String) throws {
        #expect(try parse(name) == nil)
    }

    @Test(
        .enabled(if: !names.isEmpty, "the vectors folder is not present"),
        arguments: names.filter { $0.hasPrefix("n_") }
    )
    func `what must be refused is refused`(name: String) throws {
        #expect(try parse(name) != nil)
    }

    @Test(
        .enabled(if: !names.isEmpty, "the vectors folder is not present"),
        arguments: names.filter { $0.hasPrefix("i_") }
    )
    func `what may go either way ends either way`(name: String) throws {
        _ = try parse(name)
    }
}
