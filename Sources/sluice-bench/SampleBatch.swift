// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem

/// A batch of made-up events of about 430 bytes, as one app posts it.
struct SampleBatch {
    /// Digits of an event's id that tell it from all others.
    static let idDigits = 32

    let body: String
    /// Where the digits of each event's id stand in the body.
    let places: [Int]

    init(_ count: Int, client: Int = 0) {
        var body = "{\"events\":["
        var places: [Int] = []
        let now = SystemClock.system.wallSeconds
        let name = Self.name(of: client)
        for number in 0..<count {
            if number > 0 { body += "," }
            body += #"{"event":"report_exported","event_id":"evt_"#
            places.append(body.utf8.count)
            body += String(repeating: "0", count: Self.idDigits)
            body += #"","occurred_at":\#(now),"client_sent_at":\#(now),"sequence":\#(number),"#
            body += #""anonymous_id":"anon_\#(name)","session_id":"ses_\#(String(name.reversed()))","#
            body += #""user_id":null,"app_version":"4.8.0","build_number":"842","platform":"ios","schema_version":1,"#
            body += #""properties":{"report_type":"retention","row_count":\#(18420 + number * 977),"locale":"de_DE","#
            body += #""duration_ms":\#(900 + number * 7),"is_shared":true}}"#
        }
        self.body = body + "]}"
        self.places = places
    }

    /// 26 digits that no other client has.
    private static func name(of client: Int) -> String {
        let digits = [1, 2].map { String(mixed(UInt64(client) &* 2 &+ $0), radix: 36) }.joined()
        return String((String(repeating: "0", count: 26) + digits).suffix(26))
    }

    /// Numbers that look drawn, a different one for each: SplitMix64.
    static func mixed(_ number: UInt64) -> UInt64 {
        var value = number &* 0x9e37_79b9_7f4a_7c15
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }

    /// The whole request, where the digits stand in it, and its length, which is the same for every client.
    var request: (bytes: [UInt8], places: [Int], count: Int) {
        let head =
            "POST /api/mobile-events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            + "User-Agent: sluice-bench\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        let bytes = Array((head + body).utf8)
        return (bytes, places.map { $0 + head.utf8.count }, bytes.count)
    }

    /// The contract that knows these events.
    static let contract = """
        { contract_version: "bench-1", schema_versions: { min: 1, max: 1 }, events: { report_exported: { properties: {
          report_type: { type: "string", max_length: 50 }, row_count: { type: "number" }, locale: { type: "string" },
          duration_ms: { type: "number" }, is_shared: { type: "boolean" } } } } }
        """

    /// Starts an endpoint for them, rate limits off.
    static func startEndpoint(_ folder: String, spool: String) throws -> ListeningProgram {
        let contract = "\(folder)/contract.json5"
        try File(opening: contract, O_WRONLY | O_CREAT).write(Self.contract)
        return try ListeningProgram(
            "sluice-endpoint",
            ["serve", "--spool", spool, "--contract", contract, "--listen", "127.0.0.1:0", "--admin", "off"],
            environment: [
                "SLUICE_RATE_LIMIT_USER=0", "SLUICE_RATE_LIMIT_ANONYMOUS=0", "SLUICE_RATE_LIMIT_ADDRESS=0",
                "SLUICE_LOG_LEVEL=warning",
            ],
            output: "\(folder)/endpoint.out"
        )
    }
}
