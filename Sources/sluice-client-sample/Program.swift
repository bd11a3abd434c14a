// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient

/// A small app without a screen: it tracks events, delivers them to an endpoint, and shows what the client knows.
@main
struct Program {
    static func main() async {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            if options.showsHelp {
                print(Options.usage)
            } else if options.measures {
                try await Measurement(options).run()
            } else {
                try await Tour(options).run()
            }
        } catch let error as UsageError {
            fail("\(error.problem)\n\(Options.usage)", code: 64)
        } catch {
            fail("\(error)", code: 69)
        }
    }

    static func fail(_ message: String, code: Int32) -> Never {
        FileHandle.standardError.write(Data("sluice-client-sample: \(message)\n".utf8))
        exit(code)
    }
}
