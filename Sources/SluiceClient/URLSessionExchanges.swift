// SPDX-License-Identifier: Apache-2.0
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The session's delegate: collects each answer, and gives it to who waits for it.
///
/// `@unchecked Sendable`: `waiting` is only touched with `lock` held.
final class URLSessionExchanges: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    /// An answer about 100 events, names of removed properties included, stays far below.
    private static let maximumAnswerBytes = 1 << 20

    private struct Exchange {
        var continuation: CheckedContinuation<EndpointAnswer, any Error>
        var body: [UInt8] = []
    }

    private let lock = NSLock()
    private var waiting: [Int: Exchange] = [:]

    func run(_ task: URLSessionDataTask) async throws -> EndpointAnswer {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                lock.withLock { waiting[task.taskIdentifier] = Exchange(continuation: continuation) }
                task.resume()
                // Cancelled before it was resumed: the handler came too early to be heard.
                if Task.isCancelled { giveUp(task) }
            }
        } onCancel: {
            giveUp(task)
        }
    }

    /// Ends the wait at once: Linux's Foundation tells nothing of a task that is cancelled while it starts.
    private func giveUp(_ task: URLSessionDataTask) {
        task.cancel()
        let exchange = lock.withLock { waiting.removeValue(forKey: task.taskIdentifier) }
        exchange?.continuation.resume(throwing: URLError(.cancelled))
    }

    // MARK: - URLSessionDataDelegate

    /// A redirect is an answer like any other: posted again it may lose its body, and it may lead anywhere.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLong = lock.withLock {
            waiting[dataTask.taskIdentifier]?.body.append(contentsOf: data)
            return (waiting[dataTask.taskIdentifier]?.body.count ?? 0) > Self.maximumAnswerBytes
        }
        if isTooLong { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let exchange = lock.withLock({ waiting.removeValue(forKey: task.taskIdentifier) }) else { return }
        if let error {
            exchange.continuation.resume(throwing: error)
        } else if let response = task.response as? HTTPURLResponse {
            exchange.continuation.resume(returning: EndpointAnswer(response, body: exchange.body))
        } else {
            exchange.continuation.resume(throwing: URLError(.badServerResponse))
        }
    }
}

extension EndpointAnswer {
    fileprivate init(_ response: HTTPURLResponse, body: [UInt8]) {
        self.init(
            status: response.statusCode,
            contentType: response.value(forHTTPHeaderField: "Content-Type"),
            retryAfter: response.value(forHTTPHeaderField: "Retry-After"),
            date: response.value(forHTTPHeaderField: "Date"),
            body: body
        )
    }
}
