// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceEndpoint
import SluiceEvents
import SluiceServer
import SluiceSpool
import SluiceSystem

/// Turns the settings into what the endpoint is made of, and lists everything that is wrong with them.
struct EndpointConfiguration {
    /// Settings that `serve`, `check` and `openapi` take as options.
    static let settings = ["spool.path", "endpoint.contract", "endpoint.listen", "endpoint.admin_listen"]

    let configuration: Configuration
    let contract: Contract
    let policy: EndpointPolicy

    /// - Throws: all problems of settings, contract and keys.
    init(_ source: ConfigurationSource) throws(ConfigurationError) {
        let configuration = try source.load()
        var problems: [String] = []
        let contract = Self.contract(configuration, &problems)
        var settings = Self.settings(configuration)
        if let proxies = NetworkList(parsing: configuration.auth.trustedProxies) {
            settings.trustedProxies = proxies
        } else {
            problems.append("auth.trusted_proxies must be numeric addresses or networks")
        }
        let tokens = Self.tokens(configuration.auth, &problems)
        if let contract { problems += Self.contradictions(configuration, contract) }
        guard let contract, problems.isEmpty else { throw ConfigurationError(problems) }
        self.configuration = configuration
        self.contract = contract
        policy = EndpointPolicy(settings, contract: contract, tokens: tokens)
    }

    private static func contract(_ configuration: Configuration, _ problems: inout [String]) -> Contract? {
        do throws(ConfigurationError) {
            return try configuration.requiredContract()
        } catch {
            problems += error.problems
            return nil
        }
    }

    private static func contradictions(_ configuration: Configuration, _ contract: Contract) -> [String] {
        configuration.clients.compactMap { name, client in
            guard let platform = client.platform, !contract.definition.platforms.contains(platform) else { return nil }
            return "clients: \(name): the contract lists no platform \"\(platform)\""
        }
    }

    private static func settings(_ configuration: Configuration) -> EndpointPolicy.Settings {
        let endpoint = configuration.endpoint
        var settings = EndpointPolicy.Settings()
        settings.path = endpoint.path
        settings.limits = configuration.eventLimits
        settings.clock = configuration.clockPolicy
        settings.collection = endpoint.collection
        settings.environment = endpoint.environment
        settings.clients = configuration.clients.map { name, client in
            EndpointPolicy.Client(name: name, collection: client.collection, platform: client.platform)
        }
        settings.assignsUser = configuration.auth.userIDFromToken == .assign
        settings.unprovenUser = configuration.auth.unprovenUserID == .claimed ? .claimed : .remove
        settings.rateLimits.user = limit(configuration.rateLimits.user)
        settings.rateLimits.anonymous = limit(configuration.rateLimits.anonymous)
        settings.rateLimits.address = limit(configuration.rateLimits.address)
        settings.maximumBufferedBytes = endpoint.maxBufferedBytes
        settings.maximumInflationRatio = endpoint.maxInflationRatio
        return settings
    }

    private static func limit(_ limit: Configuration.RateLimit) -> RateLimit {
        RateLimit(eventsPerSecond: limit.eventsPerSecond, burst: limit.burst)
    }

    private static func tokens(_ auth: Configuration.Auth, _ problems: inout [String]) -> TokenVerifier? {
        guard let algorithm = TokenRules.Algorithm(rawValue: auth.algorithm.rawValue) else { return nil }
        var rules = TokenRules(algorithm: algorithm)
        rules.audience = auth.audience
        rules.issuer = auth.issuer
        rules.leewaySeconds = auth.leewaySeconds
        rules.userClaim = auth.userClaim
        rules.accountClaim = auth.accountClaim
        rules.serverRoleClaim = auth.serverRoleClaim
        rules.serverRole = auth.serverRole
        rules.clientClaim = auth.collectionClaim
        return TokenVerifier.load(rules, keyFiles: auth.keyFiles, problems: &problems)
    }

    // MARK: - What only counts at the start

    var server: ServerConfiguration {
        let endpoint = configuration.endpoint
        var server = ServerConfiguration(host: endpoint.listen.host, port: endpoint.listen.port)
        server.threads = endpoint.threads
        server.maximumConnections = endpoint.maxConnections
        server.maximumConnectionsPerAddress = endpoint.maxConnectionsPerAddress
        server.connectionBytes = endpoint.maxHeaderBytes
        server.headTimeout = endpoint.headTimeout
        server.bodyTimeout = endpoint.bodyTimeout
        server.keepAliveTimeout = endpoint.keepAliveTimeout
        server.sendTimeout = endpoint.sendTimeout
        // The writer answers what takes too long; this is for what the writer itself cannot answer.
        server.answerTimeout = endpoint.commitTimeout + .seconds(5)
        return server
    }

    func start(in spool: SpoolFolder) throws(SystemError) -> EndpointStart {
        var start = EndpointStart(server: server)
        start.writer = try configuration.segmentWriterOptions(root: spool.root)
        start.writer.maximumBufferedBytes = configuration.endpoint.maxBufferedBytes
        start.writer.stallLimit = configuration.endpoint.commitTimeout
        start.shutdownGrace = configuration.endpoint.shutdownGrace
        return start
    }
}
