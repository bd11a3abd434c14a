// SPDX-License-Identifier: Apache-2.0
internal import CSluiceCurl
internal import SluiceSystem

/// The client's thread: takes what was sent, lets libcurl work, hands over what is finished.
final class HTTPLoop {
    /// Idle easy handles that are kept for the next requests.
    private static let keptTransfers = 256
    private static let longestWaitMilliseconds: Int32 = 1000

    private let configuration: HTTPClientConfiguration
    private let inbox: HTTPInbox
    private let clock: SystemClock
    private let onCompletion: @Sendable () -> Void
    private var active: [ObjectIdentifier: HTTPTransfer] = [:]
    private var idle: [HTTPTransfer] = []
    private var completions: [HTTPCompletion] = []

    init(
        _ configuration: HTTPClientConfiguration,
        inbox: HTTPInbox,
        clock: SystemClock,
        onCompletion: @escaping @Sendable () -> Void
    ) {
        self.configuration = configuration
        self.inbox = inbox
        self.clock = clock
        self.onCompletion = onCompletion
    }

    private var multi: UnsafeMutableRawPointer { inbox.multi.pointer }

    func run() {
        var pending: [HTTPInbox.Pending] = []
        while true {
            let work = inbox.takeWork(&pending)
            for one in pending { start(one) }
            pending.removeAll(keepingCapacity: true)
            if work.cancels || work.stops { cancelActive() }
            if work.stops { break }
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            collect()
            publish()
            if work.mayWait { curl_multi_poll(multi, nil, 0, Self.longestWaitMilliseconds, nil) }
        }
        for one in inbox.end() { refuse(one, .cancelled, "the client was closed") }
        publish()
        idle.removeAll()
    }

    private func start(_ pending: HTTPInbox.Pending) {
        let transfer = idle.popLast() ?? HTTPTransfer(configuration)
        if let problem = transfer.prepare(pending) {
            idle.append(transfer)
            refuse(pending, .invalidRequest, problem)
            return
        }
        let code = curl_multi_add_handle(multi, transfer.easy)
        precondition(code == CURLM_OK, "libcurl refuses a handle: \(String(cString: curl_multi_strerror(code)))")
        active[ObjectIdentifier(transfer)] = transfer
    }

    private func refuse(_ pending: HTTPInbox.Pending, _ kind: HTTPFailure.Kind, _ message: String) {
        let failure = HTTPFailure(kind: kind, wasSent: false, message: message)
        completions.append(
            HTTPCompletion(
                tag: pending.tag,
                result: .failure(failure),
                nanoseconds: clock.monotonicNanoseconds() - pending.sentAt
            )
        )
    }

    private func collect() {
        var code = CURLE_OK
        while let easy = sluice_curl_multi_next_finished(multi, &code) {
            let transfer = HTTPTransfer.of(easy)
            end(transfer, transfer.result(code))
        }
    }

    private func cancelActive() {
        for transfer in active.values {
            end(
                transfer,
                .failure(HTTPFailure(kind: .cancelled, wasSent: transfer.wasSent, message: "the request was cancelled"))
            )
        }
    }

    private func end(_ transfer: HTTPTransfer, _ result: HTTPCompletion.Result) {
        curl_multi_remove_handle(multi, transfer.easy)
        completions.append(
            HTTPCompletion(
                tag: transfer.tag,
                result: result,
                nanoseconds: clock.monotonicNanoseconds() - transfer.sentAt
            )
        )
        transfer.clear()
        active[ObjectIdentifier(transfer)] = nil
        if idle.count < Self.keptTransfers { idle.append(transfer) }
    }

    private func publish() {
        if completions.isEmpty { return }
        inbox.finish(&completions)
        onCompletion()
    }
}
