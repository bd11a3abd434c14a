// SPDX-License-Identifier: Apache-2.0
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Sends requests through one long-lived `URLSession` that follows no redirect, keeps nothing, and reads only short answers.
///
/// On Linux the session's own time-outs do not hold, and errors have misleading codes: a deadline is kept here, and any
/// error counts as no answer.
final class URLSessionTransport: Sendable {
    private let session: URLSession
    private let exchanges: URLSessionExchanges

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpMaximumConnectionsPerHost = 1
        exchanges = URLSessionExchanges()
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    func send(_ request: EndpointRequest) async throws -> EndpointAnswer {
        var message = URLRequest(url: request.url)
        message.httpMethod = "POST"
        for (name, value) in request.headers { message.setValue(value, forHTTPHeaderField: name) }
        message.httpBody = Data(request.body)
        return try await withThrowingTaskGroup(of: EndpointAnswer.self) { [message] group in
            group.addTask { try await self.exchanges.run(self.session.dataTask(with: message)) }
            group.addTask {
                try await Task.sleep(for: request.deadline)
                throw URLError(.timedOut)
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() else { throw URLError(.unknown) }
            return answer
        }
    }
}
