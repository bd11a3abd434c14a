// SPDX-License-Identifier: Apache-2.0
package import SluiceEvents
internal import SluiceServer
internal import SluiceSystem

/// Everything that decides about a request and can change while the endpoint runs; a request keeps the one it began under.
package final class EndpointPolicy: Sendable {
    package struct RateLimitSet: Hashable, Sendable {
        package var user = RateLimit(eventsPerSecond: 100, burst: 2000)
        package var anonymous = RateLimit(eventsPerSecond: 100, burst: 2000)
        package var address = RateLimit(eventsPerSecond: 2000, burst: 20_000)

        package init() {}

        package static let off: RateLimitSet = {
            var set = RateLimitSet()
            set.user = .off
            set.anonymous = .off
            set.address = .off
            return set
        }()
    }

    /// A client that may name itself in `X-Client-ID`.
    package struct Client: Hashable, Sendable {
        package var name: String
        /// Counts only when a trusted proxy or a token names the client.
        package var collection: String?
        package var platform: String?

        package init(name: String, collection: String? = nil, platform: String? = nil) {
            self.name = name
            self.collection = collection
            self.platform = platform
        }
    }

    package struct Settings: Sendable {
        package var path = "/api/mobile-events"
        package var limits = EventLimits()
        package var clock = ClockPolicy()
        package var collection = "mobile_events"
        package var environment: String?
        package var clients: [Client] = []
        package var assignsUser = false
        package var unprovenUser = Admission.UnprovenUser.remove
        package var rateLimits = RateLimitSet()
        package var trustedProxies = NetworkList()
        package var maximumBufferedBytes = 32 << 20
        package var maximumInflationRatio = 100
        /// A body younger than this is never given up as the slowest.
        package var slowBodyAge = Duration.seconds(1)

        package init() {}
    }

    package let settings: Settings
    package let contract: Contract
    package let tokens: TokenVerifier?
    let path: [UInt8]
    /// By client; the first is for everybody else.
    let profiles: [ClientProfile]

    var limits: EventLimits { settings.limits }
    var rateLimits: RateLimitSet { settings.rateLimits }

    package init(_ settings: Settings, contract: Contract, tokens: TokenVerifier? = nil) {
        self.settings = settings
        self.contract = contract
        self.tokens = tokens
        path = Array(settings.path.utf8)
        // The contract may name clients that the configuration knows nothing else about.
        var clients = settings.clients
        for defaults in contract.definition.defaults where defaults.client != "*" {
            let isKnown = clients.contains { $0.name.utf8.elementsEqual(defaults.client.utf8) }
            if !isKnown { clients.append(Client(name: defaults.client)) }
        }
        profiles = [ClientProfile(nil, settings)] + clients.map { ClientProfile($0, settings) }
    }

    /// The profile of a client by the name that it gives itself; 0 for one that nobody knows.
    func profile(named name: some Collection<UInt8>) -> Int {
        for index in 1..<profiles.count where profiles[index].name.elementsEqual(name) { return index }
        return 0
    }
}

/// What all batches of one client have in common.
struct ClientProfile: Sendable {
    let name: [UInt8]
    /// Where only the client itself says who it is.
    let claimed: Admission
    /// Where a trusted proxy or a token says it.
    let proven: Admission

    init(_ client: EndpointPolicy.Client?, _ settings: EndpointPolicy.Settings) {
        name = Array((client?.name ?? "").utf8)
        var admission = Admission(receivedAt: 0, collection: settings.collection, clock: settings.clock)
        admission.client = client?.name
        admission.platform = client?.platform
        admission.assignsUser = settings.assignsUser
        admission.unprovenUser = settings.unprovenUser
        admission.environment = settings.environment
        claimed = admission
        admission.collection = client?.collection ?? settings.collection
        proven = admission
    }
}
