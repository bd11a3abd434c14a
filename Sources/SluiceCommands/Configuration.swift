// SPDX-License-Identifier: Apache-2.0
package import SluiceTelemetry

/// Every setting of both programs with its value; `Setting.all` says what each one means and takes.
package struct Configuration: Sendable {
    package struct Spool: Sendable {
        package var path = "./spool"
        package var segmentBytes = 8 << 20
        package var segmentAge = Duration.seconds(1)
        /// 0 means a sixty-fourth of the filesystem, at most 256 MiB.
        package var minFreeBytes = 0
        package var maxBytes = 10 << 30
        package var quarantineMaxBytes = 1 << 30
    }

    /// The shape of a logging request.
    package enum BulkForm: String, CaseIterable, Sendable {
        case sharedTimestamp = "shared-timestamp"
        case timestamps
        case single
    }

    package struct GraphJSON: Sendable {
        package var url = "https://api.graphjson.com"
        package var apiKeyFile: String?
        package var bulk = BulkForm.sharedTimestamp
        package var timestampPrecisionSeconds = 1
    }

    package struct Relay: Sendable {
        package var maxInFlight = 16
        package var linger = Duration.seconds(1)
        package var maxRequestBytes = 1 << 20
        package var memoryBudgetBytes = 48 << 20
        package var backoffMin = Duration.milliseconds(500)
        package var backoffMax = Duration.seconds(60)
        package var requestTimeout = Duration.seconds(30)
        package var connectTimeout = Duration.seconds(10)
        package var idleTimeout = Duration.seconds(15)
        package var shutdownGrace = Duration.seconds(8)
        package var stopDrain = Duration.seconds(0)
        package var probeMax = Duration.seconds(30)
        package var poisonAfterFailures = 10
        package var poisonAfter = Duration.seconds(3600)
        package var splitAfterFailures = 5
        package var duplicateWindow = 1_000_000
        package var massRejectionWindow = 200
        package var drainPatience = Duration.seconds(60)
        package var adminListen: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 9465)
        package var adminHosts: [String] = []
    }

    package struct Endpoint: Sendable {
        package var listen = ListenAddress(host: "127.0.0.1", port: 8080)
        package var path = "/api/mobile-events"
        package var contract: String?
        package var environment: String?
        package var collection = "mobile_events"
        package var adminListen: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 9464)
        package var adminHosts: [String] = []
        package var maxBodyBytes = 1 << 20
        package var maxEvents = 100
        package var maxEventBytes = 32 << 10
        package var maxProperties = 64
        package var maxBufferedBytes = 32 << 20
        package var maxInflationRatio = 100
        package var threads = 2
        package var maxConnections = 20_000
        package var maxConnectionsPerAddress = 0
        package var maxHeaderBytes = 16 << 10
        package var headTimeout = Duration.seconds(10)
        package var bodyTimeout = Duration.seconds(60)
        package var keepAliveTimeout = Duration.seconds(75)
        package var sendTimeout = Duration.seconds(30)
        package var commitTimeout = Duration.seconds(10)
        package var shutdownGrace = Duration.seconds(5)
    }

    /// What happens to an event whose time is outside the window.
    package enum ClockAction: String, CaseIterable, Sendable {
        case reject
        case quarantine
        case clamp
        case off
    }

    package struct Clock: Sendable {
        package var maxAgeSeconds = 2_592_000
        package var maxAgeAction = ClockAction.quarantine
        package var maxFutureSeconds = 300
        package var maxFutureAction = ClockAction.clamp
    }

    /// A token bucket; a rate of 0 is off.
    package struct RateLimit: Hashable, Sendable {
        package var eventsPerSecond: Double
        package var burst: Double
    }

    package struct RateLimits: Sendable {
        package var user = RateLimit(eventsPerSecond: 100, burst: 2000)
        package var anonymous = RateLimit(eventsPerSecond: 100, burst: 2000)
        package var address = RateLimit(eventsPerSecond: 2000, burst: 20_000)
    }

    package enum TokenAlgorithm: String, CaseIterable, Sendable {
        case off
        case hs256 = "HS256"
        case rs256 = "RS256"
        case es256 = "ES256"
    }

    package enum UserFromToken: String, CaseIterable, Sendable {
        case confirm
        case assign
    }

    package enum UnprovenUser: String, CaseIterable, Sendable {
        case remove
        case claimed
    }

    package struct Auth: Sendable {
        package var algorithm = TokenAlgorithm.off
        package var keyFiles: [String] = []
        package var audience: String?
        package var issuer: String?
        package var leewaySeconds = 60
        package var userClaim = "sub"
        package var accountClaim: String? = "account_id"
        package var serverRoleClaim: String?
        package var serverRole = "server"
        package var collectionClaim: String?
        package var userIDFromToken = UserFromToken.confirm
        package var unprovenUserID = UnprovenUser.remove
        package var trustedProxies: [String] = []
    }

    /// What the server knows of a client that names itself in `X-Client-ID`.
    package struct Client: Hashable, Sendable {
        package var collection: String?
        package var platform: String?
    }

    package enum LogForm: String, CaseIterable, Sendable {
        case auto
        case text
        case json
    }

    package struct Log: Sendable {
        package var level = Logger.Level.info
        package var format = LogForm.auto
    }

    package var spool = Spool()
    package var graphjson = GraphJSON()
    package var relay = Relay()
    package var endpoint = Endpoint()
    package var clock = Clock()
    package var rateLimits = RateLimits()
    package var auth = Auth()
    /// By client; ordered by name.
    package var clients: [(name: String, client: Client)] = []
    package var log = Log()

    package init() {}
}
