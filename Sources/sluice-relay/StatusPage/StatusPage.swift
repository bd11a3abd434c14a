// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// The relay's page for people: one HTML document, complete in itself, without event content.
///
/// It is rendered anew for each request. A script of some lines fetches it again every five seconds; without scripts the
/// browser reloads it. Nothing on it changes anything.
struct StatusPage {
    /// What the page shows.
    struct Content {
        var status: SpoolStatus
        var spoolPath: String
        var host: String
        var version: String
        var requestsInFlight: Int
        var concurrencyLimit: Int
        /// Why the program is not ready, a sentence each.
        var problems: [String]
        /// Names that the endpoint removed, the most frequent first, from segments that this relay has read.
        var removedNames: [NameTally.Entry]
    }

    private static let secondsBetweenLoads = 5

    private let content: Content
    private let nonce = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }.joined()

    init(_ content: Content) { self.content = content }

    /// What a request of the page is answered with.
    var page: AdminListener.Page {
        AdminListener.Page(
            contentType: "text/html; charset=utf-8",
            bytes: Array(html.utf8),
            headers: [
                (
                    "Content-Security-Policy",
                    "default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; connect-src 'self'; "
                        + "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
                ),
                ("Referrer-Policy", "no-referrer"),
            ]
        )
    }

    // MARK: The document

    private var html: String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(state.word) · Sluice relay</title>
        <link rel="icon" href="data:,">
        <noscript><meta http-equiv="refresh" content="\(Self.secondsBetweenLoads)"></noscript>
        <style nonce="\(nonce)">\(Self.style)</style>
        </head>
        <body>
        <main id="page" tabindex="-1">
        \(header)
        \(notices)
        <div class="cards">
        \(backlogCard)
        \(destinationCard)
        \(rateCard)
        \(equationCard)
        \(quarantineCard)
        \(removedCard)
        </div>
        <footer>
        <p>Read at <time>\(CalendarTime.text(seconds: Int(status.takenAtMilliseconds / 1000)))</time>,
        \(ignored)anew every \(Self.secondsBetweenLoads) s. For machines: <a href="/metrics">metrics</a>,
        <a href="/readyz">readiness</a>, <a href="/healthz">liveness</a>. On the command line:
        <code>sluice-relay status</code>.</p>
        </footer>
        </main>
        <p id="stale" role="status" hidden>The relay does not answer; this is what it last said.</p>
        <script nonce="\(nonce)">\(Self.script)</script>
        </body>
        </html>

        """
    }

    private var status: SpoolStatus { content.status }

    private var ignored: String {
        status.ignoredFiles == 0 ? "" : "\(Self.grouped(status.ignoredFiles)) foreign names left alone, "
    }

    private var header: String {
        """
        <header>
        <h1>Sluice relay</h1>
        <p class="state \(state.kind)"><strong>\(state.word)</strong> <span>\(Self.escaped(state.reason))</span></p>
        <p class="where"><bdi>\(Self.escaped(content.host))</bdi> · <bdi>\(Self.escaped(content.spoolPath))</bdi>
        · version \(Self.escaped(content.version))</p>
        </header>
        """
    }

    private var notices: String {
        let problems = status.problems.map { ("problem", $0) }
        // What closes the destination stands at the top already.
        let others = content.problems.filter { !$0.hasPrefix("destination:") }
        let notes = (others + status.notes).map { ("note", $0) }
        guard !problems.isEmpty || !notes.isEmpty else { return "" }
        let items = (problems + notes).prefix(30)
            .map { "<li class=\"\($0.0)\"><bdi>\(Self.escaped($0.1))</bdi></li>" }
        return "<section aria-labelledby=\"n\"><h2 id=\"n\">To be looked at</h2><ul class=\"notices\">"
            + items.joined() + "</ul></section>"
    }

    // MARK: State

    private struct State {
        var word: String
        /// `ok`, `wait` or `bad`.
        var kind: String
        var reason: String
    }

    private var state: State {
        if !status.balanced {
            return State(word: "Unbalanced", kind: "bad", reason: "records are missing in the books; see below")
        }
        if let gate = status.gate {
            if let halted = gate.haltedReason { return State(word: "Halted", kind: "bad", reason: halted) }
            let milliseconds = gate.remainingMilliseconds(at: status.takenAtMilliseconds)
            if milliseconds > 0 {
                let rest = Self.duration(seconds: Int((milliseconds + 999) / 1000))
                return State(word: "Waiting", kind: "wait", reason: "the next try is in \(rest): \(gate.reason)")
            }
        }
        if status.pending == 0 {
            return State(word: "Idle", kind: "ok", reason: "everything accepted is accounted for")
        }
        return State(word: "Delivering", kind: "ok", reason: "\(Self.grouped(status.pending)) records to go")
    }

    // MARK: Cards

    private var backlogCard: String {
        let bytes = status.bytes.open + status.bytes.ready + status.bytes.claimed
        let age = status.oldestRecordAgeSeconds.map { Self.duration(seconds: $0) } ?? "nothing waits"
        return card(
            "backlog",
            "Backlog",
            """
            <p class="figure">\(Self.grouped(status.pending)) <small>records</small></p>
            <dl>
            <dt>oldest</dt><dd>\(age)</dd>
            <dt>on disk</dt><dd>\(Self.size(bytes))</dd>
            <dt>being written</dt><dd>\(Self.segments(status.segments.open))</dd>
            <dt>ready</dt><dd>\(Self.segments(status.segments.ready))</dd>
            <dt>claimed</dt><dd>\(Self.segments(status.segments.claimed))</dd>
            </dl>
            """
        )
    }

    private var destinationCard: String {
        var rows = [("gate", "open")]
        if let gate = status.gate {
            if gate.haltedReason != nil {
                rows = [("gate", "halted: everything is kept, one request at a time is tried")]
            } else if gate.isClosed(atMilliseconds: status.takenAtMilliseconds) {
                rows = [("gate", "closed")]
            }
            rows.append(("failures in a row", Self.grouped(gate.consecutiveFailures)))
            rows.append(("has taken records", gate.hasDelivered ? "yes" : "not yet"))
        }
        rows.append(("requests under way", "\(content.requestsInFlight) of at most \(content.concurrencyLimit)"))
        let list = rows.map { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" }.joined(separator: "\n")
        return card("destination", "Destination", "<dl>\(list)</dl>")
    }

    private var rateCard: String {
        let rates = status.rates
        let minutes = status.throughput.minutes(now: Int(status.takenAtMilliseconds / 1000))
        return card(
            "rates",
            "In and out",
            """
            <dl class="key">
            <dt class="in">accepted</dt><dd>\(Self.rate(rates.accepted))/s</dd>
            <dt class="out">delivered</dt><dd>\(Self.rate(rates.delivered))/s</dd>
            </dl>
            \(Self.chart(minutes))
            <p class="hint">per second: the figures over five minutes, the chart minute by minute over the last hour; a record
            counts when its segment is sealed, and when its segment is finished</p>
            """,
            isWide: true
        )
    }

    private var equationCard: String {
        let terms = [
            ("delivered", status.counts.delivered), ("duplicate", status.counts.duplicate),
            ("expired", status.counts.expired), ("discarded", status.counts.discarded),
            ("erased", status.counts.erased), ("quarantined", status.quarantined), ("pending", status.pending),
        ]
        let parts = terms.enumerated().map { index, term in
            "<li><span class=\"sign\">\(index == 0 ? "=" : "+")</span> <b>\(Self.grouped(term.1))</b> \(term.0)</li>"
        }
        let verdict =
            status.balanced
            ? "<p class=\"state ok\"><strong>Balanced</strong></p>"
            : "<p class=\"state bad\"><strong>Not balanced</strong></p>"
        return card(
            "books",
            "Where every accepted record is",
            """
            <ul class="equation">
            <li><b>\(Self.grouped(status.accepted))</b> accepted</li>
            \(parts.joined(separator: "\n"))
            </ul>
            \(verdict)
            """,
            isWide: true
        )
    }

    private var quarantineCard: String {
        let reasons = status.quarantineReasons.sorted {
            $0.value != $1.value ? $0.value > $1.value : $0.key.utf8.lexicographicallyPrecedes($1.key.utf8)
        }
        return table(
            "quarantine",
            "Quarantine",
            columns: ("reason", "records"),
            rows: reasons.prefix(20).map { ($0.key, $0.value) },
            empty: "Nothing is in quarantine.",
            hint: "<code>sluice-relay quarantine list</code> tells more"
        )
    }

    private var removedCard: String {
        table(
            "removed",
            "Removed properties",
            columns: ("name", "times"),
            rows: content.removedNames.prefix(10).map { (String(decoding: $0.name, as: UTF8.self), $0.count) },
            empty: "No property was removed from the events that this relay has read.",
            hint: "names that the contract does not list, in segments read since this relay started"
        )
    }

    private func table(
        _ id: String,
        _ title: String,
        columns: (String, String),
        rows: [(String, Int)],
        empty: String,
        hint: String
    ) -> String {
        guard !rows.isEmpty else { return card(id, title, "<p>\(empty)</p>") }
        let lines = rows.map { name, count in
            "<tr><th scope=\"row\"><bdi>\(Self.escaped(name))</bdi></th><td>\(Self.grouped(count))</td></tr>"
        }
        return card(
            id,
            title,
            """
            <table><thead><tr><th scope="col">\(columns.0)</th><th scope="col">\(columns.1)</th></tr></thead>
            <tbody>\(lines.joined(separator: "\n"))</tbody></table>
            <p class="hint">\(hint)</p>
            """
        )
    }

    private func card(_ id: String, _ title: String, _ body: String, isWide: Bool = false) -> String {
        """
        <section class="card\(isWide ? " wide" : "")" aria-labelledby="\(id)">
        <h2 id="\(id)">\(title)</h2>
        \(body)
        </section>
        """
    }
}
