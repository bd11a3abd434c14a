// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceTestSupport
import Testing

struct APIKeyTests {
    private let folder = TemporaryFolder()

    private func configuration(_ file: String?) -> Configuration {
        var configuration = Configuration()
        configuration.graphjson.apiKeyFile = file
        return configuration
    }

    @Test func `the environment comes first, then systemd's credential, then the file`() throws {
        let file = try folder.write("from-file\n", to: "key")
        try folder.write(" from-systemd \r\n", to: "graphjson_api_key")
        let environment = ["GRAPHJSON_API_KEY": "from-environment", "CREDENTIALS_DIRECTORY": folder.path]
        #expect(try APIKey.read(configuration(file), environment: environment).secret.text == "from-environment")
        let rest = ["CREDENTIALS_DIRECTORY": folder.path]
        #expect(try APIKey.read(configuration(file), environment: rest).secret.text == "from-systemd")
        #expect(try APIKey.read(configuration(file), environment: [:]).secret.text == "from-file")
        // A unit that is handed other credentials only.
        let other = ["CREDENTIALS_DIRECTORY": folder.path("none")]
        #expect(try APIKey.read(configuration(file), environment: other).secret.text == "from-file")
    }

    @Test func `a key that changed is read anew, also behind a link`() throws {
        let file = try folder.write("old", to: "key")
        symlink(file, folder.path("link"))
        let configuration = configuration(folder.path("link"))
        #expect(try APIKey.read(configuration, environment: [:]).secret.text == "old")
        try folder.write("new", to: "key")
        #expect(try APIKey.read(configuration, environment: [:]).secret.text == "new")
    }

    @Test func `what is no key is refused without being shown`() throws {
        for (text, reason) in [
            ("", "is empty"), (" \n", "is empty"), ("se cret", "holds blanks"), ("s\u{E9}cret", "holds blanks"),
        ] {
            let file = try folder.write(text, to: "key")
            let error = #expect(throws: ConfigurationError.self) {
                try APIKey.read(configuration(file), environment: [:])
            }
            #expect(error?.description.contains("\(file): the API key \(reason)") == true)
            #expect(error?.description.contains("cret") == false)
        }
        let missing = #expect(throws: ConfigurationError.self) {
            try APIKey.read(configuration(folder.path("none")), environment: [:])
        }
        #expect(missing?.description.contains("graphjson.api_key_file \(folder.path("none"))") == true)
        #expect(throws: ConfigurationError.self) { try APIKey.read(configuration(nil), environment: [:]) }
    }

    @Test func `a secret shows itself nowhere`() {
        let secret = Secret("swordfish")
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), dumped] { #expect(!text.contains("swordfish")) }
    }
}
