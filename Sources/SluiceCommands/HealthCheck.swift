// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// The verb `health` of both programs: asks the admin listener of the one that runs on this machine, so that a
/// container's health check needs no other program in the image.
package struct HealthCheck: Sendable {
    package static let abstract = "Ask the running one on this machine whether it is in order."
    package static let usage = "[--ready] [options]"
    private static let seconds = 5

    /// The help of `sluice-endpoint health` or `sluice-relay health`.
    package static func help(of program: String) -> String {
        """
        Asks /healthz of the admin listener that \(program).admin_listen names, made for health checks of containers. A
        program that lives is not started again for a full disk or a destination that is down; --ready tells those too.

        Options:
          --ready                     Ask /readyz: whether it can do its work now.
        \(ConfigurationSource.help(["\(program).admin_listen"]))

        Exit codes:
          0   in order
          69  nobody answers
          75  it answers what is wrong
          78  the configuration is wrong, or it has no admin listener at a known port

        Examples:
          sluice-\(program) health
          sluice-\(program) health --ready --config ./sluice.json5
        """
    }

    private let source: ConfigurationSource
    private let setting: String
    private let isReadiness: Bool

    /// Takes the options of `health` out of a program's command line.
    package init(
        of program: String,
        _ arguments: inout Arguments,
        _ context: CommandContext
    ) throws(UsageError) {
        setting = "\(program).admin_listen"
        isReadiness = try arguments.flag("--ready")
        source = try ConfigurationSource(&arguments, settings: [setting], environment: context.environment)
        _ = try arguments.remaining()
    }

    /// Asks, and prints the answer.
    package func run(
        _ context: CommandContext,
        _ listen: (Configuration) -> ListenAddress?
    ) throws -> ExitCode {
        guard let address = listen(try source.load()), address.port != 0 else {
            throw CommandError(.configuration, "\(setting) names no address and port that could be asked")
        }
        let host = Self.reachable(address.host)
        let target = ListenAddress(host: host, port: address.port)
        let path = isReadiness ? "/readyz" : "/healthz"
        let head = "GET \(path) HTTP/1.1\r\nHost: \(target)\r\nConnection: close\r\n\r\n"
        let answer: String
        do throws(SystemError) {
            let bytes = try TCPExchange.run(
                host: host,
                port: address.port,
                sending: Array(head.utf8),
                limitBytes: 1 << 16,
                seconds: Self.seconds
            )
            answer = String(decoding: bytes, as: UTF8.self)
        } catch {
            throw CommandError(.unavailable, error.description)
        }
        guard answer.hasPrefix("HTTP/1.1 "), let end = answer.firstRange(of: "\r\n\r\n") else {
            throw CommandError(.unavailable, "\(target): what answers there is no admin listener")
        }
        let status = answer.dropFirst(9).prefix(3)
        for line in answer[end.upperBound...].split(separator: "\n") { try context.output.line(String(line)) }
        return status == "200" ? .ok : status == "503" ? .tryLater : .unavailable
    }

    /// Where a listener can be asked that listens everywhere.
    private static func reachable(_ host: String) -> String {
        switch host {
        case "0.0.0.0": "127.0.0.1"
        case "::": "::1"
        default: host
        }
    }
}
