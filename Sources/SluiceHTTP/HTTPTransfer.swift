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

    let configuration: HTTPClientConfiguration
    let errorText: UnsafeMutablePointer<CChar>
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
        // Without it a limit that passes during a name look-up waits for the resolver all the same, and everybody with it.
        set(CURLOPT_QUICK_EXIT, 1)
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
        // libcurl silently repeats a request when a kept connection ends without an answer. That the server did not
        // take it is a guess, so the second time is refused here and the caller decides.
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
            // Over TLS a burst waits for the first handshake to learn whether HTTP/2 lets it share the connection;
            // without TLS it would wait for the first answer instead.
            set(CURLOPT_PIPEWAIT, url.utf8.starts(with: "https:".utf8) ? 1 : 0)
        }
        if request.method != method {
            method = request.method
            set(request.method == .get ? CURLOPT_HTTPGET : CURLOPT_POST, 1)
        }
        if request.method == .post {
            sluice_curl_setopt_pointer(
                easy,
                CURLOPT_POSTFIELDS,
                request.body?.bytes.baseAddress ?? UnsafeRawPointer(errorText)
            )
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
