// SPDX-License-Identifier: Apache-2.0

extension Setting {
    /// The one table of settings, in the order of the documentation.
    package static let all: [Setting] = spool + graphjson + relay + endpoint + clock + rateLimits + auth + clients + log

    private static let spool: [Setting] = [
        .text(
            ("spool", "path"),
            \.spool.path,
            allowed: "the path of a folder",
            flag: "--spool",
            placeholder: "DIR",
            "The folder that holds the events on their way; one for each API key."
        ),
        .integer(
            ("spool", "segment_bytes"),
            \.spool.segmentBytes,
            4096...1 << 30,
            "bytes",
            "A segment file is sealed and handed to the relay when it has grown to this size."
        ),
        .seconds(
            ("spool", "segment_age_s"),
            \.spool.segmentAge,
            0.01...3600,
            "A segment file that holds events is sealed at this age, whatever its size."
        ),
        .integer(
            ("spool", "min_free_bytes"),
            \.spool.minFreeBytes,
            0...1 << 50,
            "bytes",
            "New events are refused (503) when the disk has less room than this; 0 is a sixty-fourth of the filesystem, at most 256 MiB."
        ),
        .integer(
            ("spool", "max_bytes"),
            \.spool.maxBytes,
            1 << 16...1 << 50,
            "bytes",
            "New events are refused (503) when the spool without its quarantine takes more room than this."
        ),
        .integer(
            ("spool", "quarantine_max_bytes"),
            \.spool.quarantineMaxBytes,
            1 << 16...1 << 50,
            "bytes",
            "When the quarantine has grown to this size, bad records stay pending and an alert says so."
        ),
    ]

    private static let graphjson: [Setting] = [
        .text(
            ("graphjson", "url"),
            \.graphjson.url,
            allowed: "an http or https URL without user, query or fragment",
            where: BaseURL.isAllowed,
            flag: "--graphjson-url",
            placeholder: "URL",
            "Where GraphJSON's API is; the request paths are appended."
        ),
        .optionalText(
            ("graphjson", "api_key_file"),
            \.graphjson.apiKeyFile,
            allowed: "the path of a file",
            flag: "--api-key-file",
            placeholder: "FILE",
            "The file that holds the API key and nothing else; the environment's GRAPHJSON_API_KEY and systemd's credential graphjson_api_key come first."
        ),
        .choice(
            ("graphjson", "bulk"),
            \.graphjson.bulk,
            "The shape of a request: events that share one timestamp, a timestamp for each event, or one event a request."
        ),
        .integer(
            ("graphjson", "timestamp_precision_s"),
            \.graphjson.timestampPrecisionSeconds,
            1...86_400,
            "seconds",
            "Timestamps are rounded down to multiples of this, so that more events share a request; 1 is exact, above it the event says timestamp_rounded_s."
        ),
    ]

    private static let relay: [Setting] = [
        .integer(
            ("relay", "max_in_flight"),
            \.relay.maxInFlight,
            1...256,
            "requests",
            "The most requests under way at once; fewer while the destination is slow."
        ),
        .seconds(
            ("relay", "linger_s"),
            \.relay.linger,
            0...300,
            "An event waits this long for others that can share its request."
        ),
        .integer(
            ("relay", "max_request_bytes"),
            \.relay.maxRequestBytes,
            1024...64 << 20,
            "bytes",
            "The most bytes of a request's body."
        ),
        .integer(
            ("relay", "memory_budget_bytes"),
            \.relay.memoryBudgetBytes,
            1 << 20...4 << 30,
            "bytes",
            "The memory for events that are read and not delivered yet; when it is used up, the oldest are sent in smaller requests."
        ),
        .seconds(
            ("relay", "backoff_min_s"),
            \.relay.backoffMin,
            0.01...3600,
            "The longest wait before the first retry; it doubles with each failure."
        ),
        .seconds(
            ("relay", "backoff_max_s"),
            \.relay.backoffMax,
            0.01...3600,
            "The longest wait between two retries."
        ),
        .seconds(
            ("relay", "request_timeout_s"),
            \.relay.requestTimeout,
            0.1...600,
            "The most time for a request, from connecting to the last byte of its answer."
        ),
        .seconds(
            ("relay", "connect_timeout_s"),
            \.relay.connectTimeout,
            0.1...600,
            "The most time for name look-up, connection and TLS."
        ),
        .seconds(
            ("relay", "idle_timeout_s"),
            \.relay.idleTimeout,
            1...600,
            "A request on which no byte moves for this long is given up."
        ),
        .seconds(
            ("relay", "shutdown_grace_s"),
            \.relay.shutdownGrace,
            0...300,
            "After SIGTERM, requests under way are awaited this long."
        ),
        .seconds(
            ("relay", "stop_drain_s"),
            \.relay.stopDrain,
            0...3600,
            "After SIGTERM, a running relay goes on delivering what is in the spool for at most this long, for a spool that is thrown away with its container; 0 leaves it to the next start."
        ),
        .seconds(
            ("relay", "probe_max_s"),
            \.relay.probeMax,
            0.01...3600,
            "While halted, one request tries the destination at growing intervals, at most this long apart."
        ),
        .integer(
            ("relay", "poison_after_failures"),
            \.relay.poisonAfterFailures,
            1...1000,
            "failures",
            "A single record that failed this often, for at least poison_after_s, while others succeeded, goes to quarantine."
        ),
        .seconds(
            ("relay", "poison_after_s"),
            \.relay.poisonAfter,
            0...604_800,
            "A single record goes to quarantine for failing only after it has failed for this long."
        ),
        .integer(
            ("relay", "split_after_failures"),
            \.relay.splitAfterFailures,
            1...1000,
            "failures",
            "A request that failed this often is halved, if others succeeded or hardly any other was sent."
        ),
        .integer(
            ("relay", "duplicate_window"),
            \.relay.duplicateWindow,
            0...100_000_000,
            "events",
            "The relay knows at least this many delivered events and drops an exact repeat; 0 is off."
        ),
        .integer(
            ("relay", "mass_rejection_window"),
            \.relay.massRejectionWindow,
            50...100_000,
            "verdicts",
            "When fewer than 5 % of this many latest verdicts are deliveries, the relay halts and puts nothing into quarantine."
        ),
        .seconds(
            ("relay", "drain_patience_s"),
            \.relay.drainPatience,
            0...86_400,
            "A drain that cannot deliver anything ends after this long and leaves the rest to the next one."
        ),
        .optionalAddress(
            ("relay", "admin_listen"),
            \.relay.adminListen,
            flag: "--admin",
            "Where the relay serves its status page, /metrics, /healthz and /readyz."
        ),
        .list(
            ("relay", "admin_hosts"),
            \.relay.adminHosts,
            allowed: "a list of host names",
            "Names with a dot by which requests to the admin listener may call it; addresses and names without a dot always may."
        ),
    ]

    private static let endpoint: [Setting] = [
        .address(("endpoint", "listen"), \.endpoint.listen, flag: "--listen", "Where the endpoint takes events."),
        .text(
            ("endpoint", "path"),
            \.endpoint.path,
            allowed: "a path that begins with /",
            where: { $0.hasPrefix("/") && $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") } },
            "The path that takes events."
        ),
        .optionalText(
            ("endpoint", "contract"),
            \.endpoint.contract,
            allowed: "the path of a file",
            flag: "--contract",
            placeholder: "FILE",
            "The contract: which events there are and what they may hold."
        ),
        .optionalText(
            ("endpoint", "environment"),
            \.endpoint.environment,
            allowed: "a text of at most 50 characters",
            where: { !$0.isEmpty && $0.utf8.count <= 50 },
            "A trusted field of every event, such as \"staging\"."
        ),
        .text(
            ("endpoint", "collection"),
            \.endpoint.collection,
            "The GraphJSON collection of events for which neither the contract nor a trusted client names one."
        ),
        .optionalAddress(
            ("endpoint", "admin_listen"),
            \.endpoint.adminListen,
            flag: "--admin",
            "Where the endpoint serves /metrics, /healthz and /readyz."
        ),
        .list(
            ("endpoint", "admin_hosts"),
            \.endpoint.adminHosts,
            allowed: "a list of host names",
            "Names with a dot by which requests to the admin listener may call it; addresses and names without a dot always may."
        ),
        .integer(
            ("endpoint", "max_body_bytes"),
            \.endpoint.maxBodyBytes,
            1024...64 << 20,
            "bytes",
            "The most bytes of a request's body, also after gunzip."
        ),
        .integer(
            ("endpoint", "max_events"),
            \.endpoint.maxEvents,
            1...10_000,
            "events",
            "The most events in a request."
        ),
        .integer(
            ("endpoint", "max_event_bytes"),
            \.endpoint.maxEventBytes,
            512...4 << 20,
            "bytes",
            "The most bytes of an event's JSON."
        ),
        .integer(
            ("endpoint", "max_properties"),
            \.endpoint.maxProperties,
            0...1000,
            "properties",
            "The most properties of an event."
        ),
        .integer(
            ("endpoint", "max_buffered_bytes"),
            \.endpoint.maxBufferedBytes,
            1 << 20...4 << 30,
            "bytes",
            "The memory for all bodies being received and parsed and for events that wait for the disk; used up, requests are refused (503)."
        ),
        .integer(
            ("endpoint", "max_inflation_ratio"),
            \.endpoint.maxInflationRatio,
            2...1100,
            "times",
            "A gzip body that inflates to more than 64 KiB and to more than this many times its size is refused."
        ),
        .integer(
            ("endpoint", "threads"),
            \.endpoint.threads,
            1...64,
            "threads",
            "Threads that read and judge requests; none of them ever waits for the disk."
        ),
        .integer(
            ("endpoint", "max_connections"),
            \.endpoint.maxConnections,
            1...1_000_000,
            "connections",
            "The most open connections; more wait to be accepted. The limit of open files is raised as far as it may be."
        ),
        .integer(
            ("endpoint", "max_connections_per_address"),
            \.endpoint.maxConnectionsPerAddress,
            0...1_000_000,
            "connections",
            "The most open connections from one address (IPv6: a /64 network); 0 is no limit, as it must be behind a proxy."
        ),
        .integer(
            ("endpoint", "max_header_bytes"),
            \.endpoint.maxHeaderBytes,
            2048...1 << 20,
            "bytes",
            "The most bytes of a request's head; the memory that a connection holds while it sends one."
        ),
        .seconds(
            ("endpoint", "head_timeout_s"),
            \.endpoint.headTimeout,
            0.1...10,
            "A new connection must have sent the head of its first request by then."
        ),
        .seconds(
            ("endpoint", "body_timeout_s"),
            \.endpoint.bodyTimeout,
            0.1...3600,
            "A body must be complete this long after its head, however slowly it comes."
        ),
        .seconds(
            ("endpoint", "keep_alive_timeout_s"),
            \.endpoint.keepAliveTimeout,
            0.1...3600,
            "A connection must have sent the head of its next request this long after an answer; more than the proxy's own."
        ),
        .seconds(
            ("endpoint", "send_timeout_s"),
            \.endpoint.sendTimeout,
            0.1...3600,
            "A client must have read its answer by then."
        ),
        .seconds(
            ("endpoint", "commit_timeout_s"),
            \.endpoint.commitTimeout,
            0.1...600,
            "Events that are not on disk by then are answered 503; they may still be delivered."
        ),
        .seconds(
            ("endpoint", "shutdown_grace_s"),
            \.endpoint.shutdownGrace,
            0...300,
            "After SIGTERM, requests under way get this long."
        ),
    ]

    private static let clock: [Setting] = [
        .integer(
            ("clock", "max_age_s"),
            \.clock.maxAgeSeconds,
            0...10_000_000_000,
            "seconds",
            "An event that says it is older than this falls under max_age_action."
        ),
        .choice(("clock", "max_age_action"), \.clock.maxAgeAction, "What happens to an event that is too old."),
        .integer(
            ("clock", "max_future_s"),
            \.clock.maxFutureSeconds,
            0...10_000_000_000,
            "seconds",
            "An event that says it comes from further in the future than this falls under max_future_action."
        ),
        .choice(("clock", "max_future_action"), \.clock.maxFutureAction, "What happens to an event from the future."),
    ]

    private static let rateLimits: [Setting] = [
        rate("user", \.rateLimits.user.eventsPerSecond, "a signed-in user"),
        burst("user", \.rateLimits.user.burst, "a signed-in user"),
        rate("anonymous", \.rateLimits.anonymous.eventsPerSecond, "an anonymous_id"),
        burst("anonymous", \.rateLimits.anonymous.burst, "an anonymous_id"),
        rate("address", \.rateLimits.address.eventsPerSecond, "an address (IPv6: a /64 network)"),
        burst("address", \.rateLimits.address.burst, "an address (IPv6: a /64 network)"),
    ]

    private static func rate(_ key: String, _ path: SettingPath<Double>, _ whom: String) -> Setting {
        .number(
            ("rate_limit", key),
            path,
            0...1e9,
            "events per second",
            "The events a second that \(whom) may send in the long run; 0 is off."
        )
    }

    private static func burst(_ key: String, _ path: SettingPath<Double>, _ whom: String) -> Setting {
        .number(
            ("rate_limit", "\(key)_burst"),
            path,
            1...1e9,
            "events",
            "The events that \(whom) may send at once."
        )
    }

    private static let auth: [Setting] = [
        .choice(
            ("auth", "algorithm"),
            \.auth.algorithm,
            "The one algorithm of users' tokens (JWT); off takes no tokens."
        ),
        .list(
            ("auth", "key_files"),
            \.auth.keyFiles,
            allowed: "a list of paths",
            "Files with the keys that tokens are checked against: a secret for HS256, else public keys as PEM; several while keys rotate."
        ),
        .optionalText(("auth", "audience"), \.auth.audience, "The audience (aud) that a token must name."),
        .optionalText(("auth", "issuer"), \.auth.issuer, "The issuer (iss) that a token must name."),
        .integer(
            ("auth", "leeway_s"),
            \.auth.leewaySeconds,
            0...3600,
            "seconds",
            "How far a token's exp and nbf may be off."
        ),
        .text(("auth", "user_claim"), \.auth.userClaim, "The claim that holds the user's id."),
        .optionalText(("auth", "account_claim"), \.auth.accountClaim, "The claim that holds the account's id."),
        .optionalText(
            ("auth", "server_role_claim"),
            \.auth.serverRoleClaim,
            "The claim that marks a backend's token, which may send events of source \"server\"."
        ),
        .text(("auth", "server_role"), \.auth.serverRole, "The value of server_role_claim that marks a backend."),
        .optionalText(
            ("auth", "collection_claim"),
            \.auth.collectionClaim,
            "The claim that names the client (see clients) whose collection is used."
        ),
        .choice(
            ("auth", "user_id_from_token"),
            \.auth.userIDFromToken,
            "Whether a token only confirms the user_id that an event carries, or is assigned to events that carry none."
        ),
        .choice(
            ("auth", "unproven_user_id"),
            \.auth.unprovenUserID,
            "Whether a user_id that no token proves is removed, or forwarded as claimed_user_id."
        ),
        .list(
            ("auth", "trusted_proxies"),
            \.auth.trustedProxies,
            allowed: "a list of numeric addresses or networks such as \"10.0.0.0/8\"",
            where: NumericAddress.isNetwork,
            "Proxies whose X-User-ID, X-Account-ID, X-Client-ID and X-Forwarded-For are believed."
        ),
    ]

    private static let clients: [Setting] = [
        .clients(
            "clients",
            "Named clients (X-Client-ID) with their collection and platform; the collection counts only when a trusted proxy or a token names the client."
        )
    ]

    private static let log: [Setting] = [
        .choice(
            ("log", "level"),
            \.log.level,
            flag: "--log-level",
            placeholder: "LEVEL",
            "The least level that is logged."
        ),
        .choice(
            ("log", "format"),
            \.log.format,
            "Readable lines, JSON lines, or by whether standard error is a terminal."
        ),
    ]
}
