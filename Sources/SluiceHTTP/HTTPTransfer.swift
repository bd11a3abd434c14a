// SPDX-License-Identifier: Apache-2.0
internal import CSluiceCurl
internal import Glibc
internal import SluiceSystem

/// One easy handle of libcurl with what its callbacks collect; used again and again, on the client's thread only.
final class HTTPTransfer {
    let easy: UnsafeMutableRawPointer
    private(set) var tag = 0
    private(set) var sentAt: Int64 = 0
    /// The request went out on a connection, at least in part.
    private(set) var wasSent = false

    private let configuration: HTTPClientConfiguration
    private let errorText: UnsafeMutablePointer<CChar>
    private var request: HTTPRequest?
    private var method: HTTPRequest.Method?
    private var url = ""
    private var head = HTTPAnswerHead()
    private var body: [UInt8] = []
    private var bodyWasCut = false

    init(_ configuration: HTTPClientConfiguration) {
        guard let easy = curl_easy_init() else { fatalError("out of memory for a libcurl handle") }
        self.easy = easy
        self.configuration = configuration
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        setUp()
    }

    deinit {
        curl_easy_cleanup(easy)
        errorText.deallocate()
    }

    static func of(_ easy: UnsafeMutableRawPointer) -> HTTPTransfer {
        var pointer: UnsafeMutableRawPointer?
        sluice_curl_getinfo_pointer(easy, &pointer)
        guard let pointer else { fatalError("a libcurl handle of nobody") }
        return from(pointer)
    }

    private static func from(_ pointer: UnsafeMutableRawPointer) -> HTTPTransfer {
        Unmanaged<HTTPTransfer>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Sets what stays the same for all requests of this handle.
    private func setUp() {
        let me = Unmanaged.passUnretained(self).toOpaque()
        sluice_curl_setopt_pointer(easy, CURLOPT_PRIVATE, me)
        sluice_curl_setopt_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        set(CURLOPT_TCP_NODELAY, 1)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_BUFFERSIZE, 8 * 1024)
        set(CURLOPT_MAXAGE_CONN, 55)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.milliseconds)
        set(CURLOPT_TIMEOUT_MS, configuration.totalTimeout.milliseconds)
        set(CURLOPT_LOW_SPEED_LIMIT, 1)
        set(CURLOPT_LOW_SPEED_TIME, max(1, configuration.idleTimeout.milliseconds / 1000))
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_USERAGENT, configuration.userAgent)
        // An empty proxy also keeps those of the environment out.
        set(CURLOPT_PROXY, configuration.proxy ?? "")
        set(CURLOPT_NOPROXY, "")
        if let file = configuration.certificateFile { set(CURLOPT_CAINFO, file) }
        setCallbacks(me)
    }

    private func setCallbacks(_ me: UnsafeMutableRawPointer) {
        sluice_curl_setopt_write(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            return HTTPTransfer.from(context).take(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        sluice_curl_setopt_pointer(easy, CURLOPT_WRITEDATA, me)
        sluice_curl_setopt_write(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            HTTPTransfer.from(context).head.take(UnsafeRawBufferPointer(start: bytes, count: size * count))
            return size * count
        }
        sluice_curl_setopt_pointer(easy, CURLOPT_HEADERDATA, me)
        // libcurl silently repeats a request when a kept connection ends without an answer. That the server did not take it
        // is a guess, so the second time is refused here and the caller decides.
        sluice_curl_setopt_prereq(easy) { context, _, _, _, _ in
            guard let context else { return CURL_PREREQFUNC_ABORT }
            let transfer = HTTPTransfer.from(context)
            defer { transfer.wasSent = true }
            return transfer.wasSent ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK
        }
        sluice_curl_setopt_pointer(easy, CURLOPT_PREREQDATA, me)
    }

    private func set(_ option: CURLoption, _ value: Int) { sluice_curl_setopt_long(easy, option, value) }

    private func set(_ option: CURLoption, _ value: String) { sluice_curl_setopt_string(easy, option, value) }

    /// Sets what differs between requests.
    ///
    /// - Returns: why it cannot be sent, or nil.
    func prepare(_ pending: HTTPInbox.Pending) -> String? {
        let request = pending.request
        if request.url.utf8.contains(0) { return "the URL holds a NUL" }
        if request.url != url {
            url = request.url
            set(CURLOPT_URL, url)
            // Over TLS a burst waits for the first handshake to learn whether HTTP/2 lets it share the connection; without
            // TLS it would wait for the first answer instead.
            set(CURLOPT_PIPEWAIT, url.utf8.starts(with: "https:".utf8) ? 1 : 0)
        }
        if request.method != method {
            method = request.method
            set(request.method == .get ? CURLOPT_HTTPGET : CURLOPT_POST, 1)
        }
        if request.method == .post {
            sluice_curl_setopt_pointer(easy, CURLOPT_POSTFIELDS, request.body?.bytes.baseAddress ?? UnsafeRawPointer(errorText))
            sluice_curl_setopt_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body?.count ?? 0))
        }
        sluice_curl_setopt_list(easy, CURLOPT_HTTPHEADER, request.headers.list)
        self.request = request
        tag = pending.tag
        sentAt = pending.sentAt
        errorText[0] = 0
        return nil
    }

    /// Forgets the last request and its answer.
    func clear() {
        request = nil
        wasSent = false
        head = HTTPAnswerHead()
        body = []
        bodyWasCut = false
    }

    /// Takes a piece of the body.
    ///
    /// - Returns: bytes taken; fewer than were offered end the transfer.
    private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        let room = configuration.maximumAnswerBytes - body.count
        if bytes.count <= room {
            body.append(contentsOf: bytes)
            return bytes.count
        }
        body.append(contentsOf: bytes.prefix(room))
        bodyWasCut = true
        return 0
    }

    func result(_ code: CURLcode) -> HTTPCompletion.Result {
        if head.isComplete && (code == CURLE_OK || bodyWasCut) {
            return .answer(
                HTTPAnswer(
                    status: head.status,
                    retryAfter: head.retryAfter,
                    contentType: head.contentType,
                    contentCoding: head.contentCoding,
                    body: body,
                    bodyWasCut: bodyWasCut
                )
            )
        }
        return .failure(failure(code))
    }
}

extension HTTPTransfer {
    private func failure(_ code: CURLcode) -> HTTPFailure {
        let kind = kind(of: code)
        return HTTPFailure(kind: kind, wasSent: wasSent, message: message(kind, code))
    }

    private func kind(of code: CURLcode) -> HTTPFailure.Kind {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .resolve
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: unsentKind
        case CURLE_PROXY: .proxy
        case CURLE_OPERATION_TIMEDOUT: timeoutKind
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CRL_BADFILE:
            .tlsVerification
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED, CURLE_SSL_SHUTDOWN_FAILED:
            .tlsHandshake
        // The head's end is missing although libcurl is content.
        case CURLE_OK, CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_ABORTED_BY_CALLBACK: .cut
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR: wasSent ? .cut : unsentKind
        case CURLE_URL_MALFORMAT: .invalidRequest
        // Also what HTTP/0.9 and unknown versions in an answer are called.
        case CURLE_UNSUPPORTED_PROTOCOL: wasSent ? .protocolViolation : .invalidRequest
        default: .protocolViolation
        }
    }

    private var timeoutKind: HTTPFailure.Kind {
        if !wasSent { return .connectTimeout }
        // Both limits share a code; only the text tells them apart.
        return strncmp(errorText, "Operation too slow", 18) == 0 ? .idleTimeout : .totalTimeout
    }

    /// Also a tunnel that the proxy refuses comes with a code that says no more than that there is no connection.
    private var unsentKind: HTTPFailure.Kind {
        switch proxyStatus {
        case 0: .connect
        case 407: .proxyAuthentication
        default: .proxy
        }
    }

    private var proxyStatus: Int {
        var status = 0
        sluice_curl_getinfo_long(easy, CURLINFO_HTTP_CONNECTCODE, &status)
        return status
    }

    /// libcurl's own text only for kinds where it cannot quote what the server sent.
    private func message(_ kind: HTTPFailure.Kind, _ code: CURLcode) -> String {
        let general = String(cString: curl_easy_strerror(code))
        switch kind {
        case .resolve, .connect, .tlsVerification, .tlsHandshake:
            let text = String(cString: errorText)
            return text.isEmpty ? general : text
        case .proxy, .proxyAuthentication: return proxyStatus == 0 ? general : "the proxy answered \(proxyStatus)"
        case .connectTimeout: return "not connected within \(configuration.connectTimeout.milliseconds) ms"
        case .idleTimeout: return "nothing moved for \(configuration.idleTimeout.milliseconds) ms"
        case .totalTimeout: return "not finished within \(configuration.totalTimeout.milliseconds) ms"
        case .cut: return "the connection ended before the answer did"
        case .protocolViolation: return "the answer is not valid HTTP: \(general)"
        case .invalidRequest, .cancelled: return general
        }
    }
}

extension Duration {
    fileprivate var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
