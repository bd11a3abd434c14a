// SPDX-License-Identifier: Apache-2.0

/// Limits and ways of an `HTTPClient`.
package struct HTTPClientConfiguration: Sendable {
    /// For name, TCP and TLS together.
    package var connectTimeout: Duration = .seconds(10)
    /// Whole seconds without a byte in either direction, once connected.
    package var idleTimeout: Duration = .seconds(30)
    /// From `send` to the last byte of the answer.
    package var totalTimeout: Duration = .seconds(60)
    package var maximumAnswerBytes = 64 * 1024
    /// Connections that are kept open for later requests.
    package var keptConnections = 128
    package var userAgent = "sluice"
    /// The proxy's URL; nil goes direct, whatever the environment says.
    package var proxy: String?
    /// A PEM file of roots that replaces the system's.
    package var certificateFile: String?

    package init() {}
}
