// SPDX-License-Identifier: Apache-2.0
internal import CSluiceCurl
internal import Glibc

extension HTTPTransfer {
    func failure(_ code: CURLcode) -> HTTPFailure {
        let kind = kind(of: code)
        return HTTPFailure(kind: kind, wasSent: wasSent, message: message(kind, code))
    }

    private func kind(of code: CURLcode) -> HTTPFailure.Kind {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .resolve
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: unsentKind
        case CURLE_PROXY: .proxy
        case CURLE_OPERATION_TIMEDOUT: timeoutKind
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CRL_BADFILE:
            .tlsVerification
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED, CURLE_SSL_SHUTDOWN_FAILED:
            .tlsHandshake
        // The head's end is missing although libcurl is content.
        case CURLE_OK, CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_HTTP2, CURLE_HTTP2_STREAM,
            CURLE_ABORTED_BY_CALLBACK:
            .cut
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
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
