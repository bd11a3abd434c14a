// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// Finds the key of GraphJSON; it is read again whenever the destination refuses it.
package struct APIKey: Sendable {
    private static let maximumBytes = 4096

    /// The key's text.
    package let secret: Secret
    /// Where it was found, for messages: `GRAPHJSON_API_KEY` or a path.
    package let source: String

    /// Reads the key from the environment's `GRAPHJSON_API_KEY`, else from systemd's credential `graphjson_api_key`, else from
    /// `graphjson.api_key_file`.
    ///
    /// A credential is for one unit alone; the file is for commands by hand under the same configuration.
    ///
    /// - Throws: when there is none, or it cannot be read or is no key; the text says where it was looked for.
    package static func read(
        _ configuration: Configuration,
        environment: [String: String]
    ) throws(ConfigurationError) -> APIKey {
        if let text = environment["GRAPHJSON_API_KEY"], !text.isEmpty {
            return try APIKey(text, source: "GRAPHJSON_API_KEY")
        }
        if let folder = environment["CREDENTIALS_DIRECTORY"] {
            let path = "\(folder)/graphjson_api_key"
            if (try? FileStatus(of: path)) != nil { return try APIKey(file: path) }  // no such credential: as below
        }
        if let path = configuration.graphjson.apiKeyFile { return try APIKey(file: path) }
        throw ConfigurationError([
            "there is no API key: set GRAPHJSON_API_KEY, or name a file that holds it in graphjson.api_key_file (--api-key-file)"
        ])
    }

    private init(file path: String) throws(ConfigurationError) {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileSystem.contents(of: path, limit: Self.maximumBytes, followLinks: true)
        } catch {
            throw ConfigurationError(["graphjson.api_key_file \(path): the API key cannot be read: \(error.reason)"])
        }
        try self.init(String(decoding: bytes, as: UTF8.self), source: path)
    }

    private init(_ text: String, source: String) throws(ConfigurationError) {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        let bytes = Array(text.utf8.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed())
        guard !bytes.isEmpty, bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            let found = bytes.isEmpty ? "is empty" : "holds blanks or characters that no key has"
            throw ConfigurationError(["\(source): the API key \(found)"])
        }
        secret = Secret(String(decoding: bytes, as: UTF8.self))
        self.source = source
    }
}
