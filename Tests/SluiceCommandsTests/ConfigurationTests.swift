// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceSystem
import SluiceTestSupport
import Testing

struct ConfigurationTests {
    private let folder = TemporaryFolder()

    private func load(
        _ text: String? = nil,
        _ words: [String] = [],
        environment: [String: String] = [:]
    ) throws -> Configuration {
        let file = try folder.write(text ?? "{}", to: "sluice.json5")
        var arguments = Arguments(words + ["--config", file])
        let source = try ConfigurationSource(
            &arguments,
            settings: ["spool.path", "graphjson.url", "relay.admin_listen"],
            environment: environment
        )
        _ = try arguments.remaining()
        return try source.load()
    }

    private func problems(
        _ text: String? = nil,
        _ words: [String] = [],
        environment: [String: String] = [:]
    ) -> [String] {
        let error = #expect(throws: ConfigurationError.self) {
            try load(text, words, environment: environment)
        }
        return error?.problems.map { $0.replacing(folder.path + "/", with: "") } ?? []
    }

    @Test func `an empty file gives the defaults`() throws {
        let configuration = try load()
        for setting in Setting.all { #expect(setting.text(in: configuration) == setting.defaultText) }
        #expect(configuration.relay.maxInFlight == 16)
        #expect(configuration.relay.linger == .seconds(1))
        #expect(configuration.endpoint.listen == ListenAddress(host: "127.0.0.1", port: 8080))
    }

    @Test func `an option beats the environment, which beats the file, which beats the defaults`() throws {
        let text =
            "{ spool: { path: '/file' }, relay: { linger_s: 2.5, max_in_flight: 4 }, graphjson: { url: 'http://a' } }"
        let environment = [
            "SLUICE_SPOOL_PATH": "/env", "SLUICE_RELAY_LINGER_S": "0.25",
            "SLUICE_AUTH_TRUSTED_PROXIES": "10.0.0.0/8, ::1",
            "SLUICE_GRAPHJSON_URL": "",
        ]
        let configuration = try load(text, ["--spool", "/option"], environment: environment)
        #expect(configuration.spool.path == "/option")
        #expect(configuration.relay.linger == .milliseconds(250))
        #expect(configuration.relay.maxInFlight == 4)
        #expect(configuration.auth.trustedProxies == ["10.0.0.0/8", "::1"])
        #expect(configuration.graphjson.url == "http://a")
    }

    @Test func `clients are a map with free names`() throws {
        let text = #"{ clients: { "ios-prod": { collection: "ios", platform: "ios" }, web: {} } }"#
        let clients = try load(text).clients
        #expect(clients.map(\.name) == ["ios-prod", "web"])
        #expect(clients.map(\.client.collection) == ["ios", nil])
    }

    @Test func `an admin listener can be turned off`() throws {
        #expect(try load("{ relay: { admin_listen: 'off' } }").relay.adminListen == nil)
        #expect(try load("{}", ["--admin", "[::1]:0"]).relay.adminListen == ListenAddress(host: "::1", port: 0))
    }

    @Test func `all problems are listed, each with file, line and key`() {
        let text = """
            {
              relay: {
                max_in_flight: "many",
                max_in_flght: 3,
                linger_s: -1,
                api_key: "secret",
              },
              rely: {},
              spool: [],
              graphjson: { url: "ftp://user:secret@x", bulk: "all", api_key: "secret", linger_s: 1 },
              clients: { a: { colection: "x" } },
            }
            """
        let problems = problems(text, ["--admin", "nowhere"], environment: ["SLUICE_LOG_LEVEL": "loud"])
        #expect(
            problems == [
                "sluice.json5:3: relay.max_in_flight takes a whole number of requests from 1 to 256",
                "sluice.json5:4: relay.max_in_flght is no setting; did you mean relay.max_in_flight?",
                "sluice.json5:5: relay.linger_s takes a number of seconds from 0 to 300",
                "sluice.json5:6: relay.api_key is no setting; the key never stands in this file: name a file that holds it in graphjson.api_key_file",
                "sluice.json5:8: rely is no section; did you mean relay?",
                "sluice.json5:9: spool must be an object of settings",
                "sluice.json5:10: graphjson.url takes an http or https URL without user, query or fragment",
                "sluice.json5:10: graphjson.bulk takes \"shared-timestamp\", \"timestamps\", \"single\"",
                "sluice.json5:10: graphjson.api_key is no setting; the key never stands in this file: name a file that holds it in graphjson.api_key_file",
                "sluice.json5:10: graphjson.linger_s is no setting; did you mean relay.linger_s?",
                "sluice.json5:11: clients takes an object such as { \"ios-prod\": { collection: \"ios\", platform: \"ios\" } }",
                "SLUICE_LOG_LEVEL takes \"trace\", \"debug\", \"info\", \"notice\", \"warning\", \"error\", \"critical\"",
                "--admin takes \"ADDRESS:PORT\" with a numeric address, port 0 for any free one, or \"off\"",
            ]
        )
        #expect(!problems.joined().contains("secret"))
    }

    @Test func `a text that is no JSON5 is told with its place`() {
        #expect(
            problems("{\n  relay: { linger_s 1 }\n}") == [
                "sluice.json5: line 2, column 21: a colon is expected after the key linger_s"
            ]
        )
        #expect(problems("[]") == ["sluice.json5: the configuration must be an object of sections"])
    }

    @Test func `settings that contradict each other are refused`() {
        #expect(
            problems("{ relay: { backoff_min_s: 100 } }") == [
                "relay.backoff_min_s must not be above relay.backoff_max_s"
            ]
        )
        #expect(
            problems("{ auth: { algorithm: 'HS256' } }") == [
                "auth.key_files must name a key for auth.algorithm \"HS256\""
            ]
        )
    }

    @Test func `a file that was named must be there, the usual one need not`() throws {
        var arguments = Arguments(["--config", folder.path("none.json5")])
        let named = try ConfigurationSource(&arguments, environment: [:])
        let error = #expect(throws: ConfigurationError.self) { try named.load() }
        #expect(error?.problems.first?.contains("none.json5: the configuration cannot be read: No such file") == true)
        #expect(throws: ConfigurationError.self) {
            var arguments = Arguments(["--config", folder.path])
            _ = try ConfigurationSource(&arguments, environment: [:]).load()
        }
    }

    @Test func `variables that are no setting are told, not refused`() throws {
        var arguments = Arguments([])
        let environment = ["SLUICE_RELAY_LINGER": "1", "SLUICE_ENDPOINT_PORT": "tcp://10.0.0.1:80", "HOME": "/"]
        let ignored = try ConfigurationSource(&arguments, environment: environment).ignoredVariables
        #expect(ignored.map(\.name) == ["SLUICE_ENDPOINT_PORT", "SLUICE_RELAY_LINGER"])
        #expect(ignored.last?.nearest == "SLUICE_RELAY_LINGER_S")
    }
}

struct SettingTests {
    @Test func `names, variables and sentences keep the conventions`() {
        #expect(Set(Setting.all.map(\.name)).count == Setting.all.count)
        #expect(Set(Setting.all.map(\.environmentName)).count == Setting.all.count)
        for setting in Setting.all {
            #expect(setting.meaning.hasSuffix("."), "\(setting.name)")
            #expect(setting.environmentName.utf8.allSatisfy { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "-") })
        }
    }

    @Test func `every default is a value that its setting takes`() throws {
        let folder = TemporaryFolder()
        var sections: [String: [String]] = [:]
        for setting in Setting.all where !setting.key.isEmpty {
            sections[setting.section, default: []].append("\(setting.key): \(setting.defaultText)")
        }
        let text = sections.map { "\($0.key): { \($0.value.joined(separator: ", ")) }" }.joined(separator: ",\n")
        var arguments = Arguments(["--config", try folder.write("{ \(text) }", to: "all.json5")])
        let configuration = try ConfigurationSource(&arguments, environment: [:]).load()
        for setting in Setting.all { #expect(setting.text(in: configuration) == setting.defaultText) }
    }

    @Test func `the document names every setting`() {
        let document = ConfigurationDocument.markdown
        for setting in Setting.all {
            #expect(document.contains("`\(setting.name)`"))
            #expect(document.contains("`\(setting.environmentName)`"))
        }
    }
}

struct ListenAddressTests {
    @Test(arguments: ["127.0.0.1:8080", "0.0.0.0:0", "[::1]:9465", "[fe80::1]:65535"])
    func `an address and its text belong together`(text: String) {
        #expect(ListenAddress(parsing: text)?.description == text)
    }

    @Test(arguments: [
        "", "8080", ":8080", "localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[::1]", "1.2.3:4",
        "127.0.0.1:+1",
    ])
    func `anything else is refused`(text: String) {
        #expect(ListenAddress(parsing: text) == nil)
    }
}

struct BaseURLTests {
    private func isAllowed(_ url: String) throws -> Bool {
        var arguments = Arguments(["--graphjson-url=\(url)"])
        let source = try ConfigurationSource(&arguments, settings: ["graphjson.url"], environment: [:])
        do throws(ConfigurationError) {
            return try source.load().graphjson.url == url
        } catch {
            return false
        }
    }

    @Test(arguments: [
        "https://api.graphjson.com", "http://127.0.0.1:9000", "http://[::1]:1/base/", "https://x.example/a/b",
    ])
    func `a base with host, port and path is taken`(url: String) throws {
        #expect(try isAllowed(url))
    }

    @Test(arguments: [
        "api.graphjson.com", "ftp://x", "https://", "https://:80", "https://u:p@x", "https://x?y", "https://x#y",
        "http://x:0",
        "http://x:70000", "http://x y", "http://[::1", "http://x/ü", "http://x\n",
    ])
    func `anything else is refused`(url: String) throws {
        #expect(try !isAllowed(url))
    }
}
