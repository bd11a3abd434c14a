// SPDX-License-Identifier: Apache-2.0

/// Limits of an `HTTPServer`.
package struct ServerConfiguration: Sendable {
    /// Numeric address without brackets.
    package var host: String
    /// 0 lets the system pick one.
    package var port: UInt16
    package var threads = 2
    package var maximumConnections = 10_000
    /// For one IPv4 address or one IPv6 /64; 0 is no limit.
    package var maximumConnectionsPerAddress = 0
    /// Memory of one connection for its head and what is read at once; a longer head is refused.
    package var connectionBytes = 16 * 1024
    /// From the connection to the end of its first request's head, whatever trickles.
    package var headTimeout: Duration = .seconds(10)
    /// From an answer to the end of the next head on the same connection.
    package var keepAliveTimeout: Duration = .seconds(75)
    /// From the end of the head to the end of the body, whatever trickles.
    package var bodyTimeout: Duration = .seconds(60)
    /// From the end of the body to the answer; then it is answered 503.
    package var answerTimeout: Duration = .seconds(60)
    /// For the client to read the answer.
    package var sendTimeout: Duration = .seconds(30)
    /// How much of a refused body of unknown length is read and dropped before the connection is cut.
    package var maximumDiscardedBytes = 64 << 20

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}
