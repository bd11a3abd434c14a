// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceServer
internal import SluiceSystem
internal import SluiceTelemetry

extension RequestDesk {
    /// Decides on a head before any of the body is read.
    func head(_ request: ServerRequest) -> ServerHandler.Admission {
        let policy = self.policy
        guard request.isPath(policy.path) else { return .refuse(refuse(.notFound)) }
        guard request.isMethod("POST") else {
            return .refuse(refuse(.methodNotAllowed, headers: [("Allow", "POST")]))
        }
        guard let type = request.header("Content-Type"), MediaType.isJSON(type) else {
            return .refuse(refuse(.unsupportedMediaType))
        }
        let coding = MediaType.coding(request.header("Content-Encoding"))
        if coding == .unsupported {
            return .refuse(refuse(.unsupportedEncoding, headers: [("Accept-Encoding", "gzip")]))
        }
        if clockGuard.problem != nil { return .refuse(refuse(.clockWrong)) }

        let isFromProxy = policy.settings.trustedProxies.contains(request.peer)
        let address =
            isFromProxy
            ? ClientAddress.behindProxies(request.header("X-Forwarded-For"), trusted: policy.settings.trustedProxies)
            : request.peer
        let addressKey = policy.rateLimits.address.isOff ? nil : address.map { limits.key(of: $0) }
        if let addressKey, let seconds = limits.wait(address: addressKey, policy.rateLimits.address) {
            return .refuse(rateLimited(RateLimits.Refusal(key: .address, seconds: seconds)))
        }
        do throws(TokenFault) {
            let identity = try identify(request, policy, isFromProxy: isFromProxy)
            let userKey = policy.rateLimits.user.isOff ? nil : identity.user.map { limits.key(ofUser: $0.id) }
            request.context = RequestState(
                policy: policy,
                ticket: request.ticket,
                address: address,
                addressKey: addressKey,
                identity: identity,
                userKey: userKey,
                isCompressed: coding == .gzip
            )
            return .receive(maximumBytes: policy.limits.maximumBodyBytes)
        } catch {
            if let addressKey { limits.takeOne(address: addressKey, policy.rateLimits.address) }
            return .refuse(unauthorized(error))
        }
    }

    /// Finds out what vouches for the request, and for whom.
    private func identify(
        _ request: ServerRequest,
        _ policy: EndpointPolicy,
        isFromProxy: Bool
    ) throws(TokenFault) -> RequestIdentity {
        var identity = RequestIdentity()
        if policy.profiles.count > 1, let name = request.header("X-Client-ID") {
            identity.profile = policy.profile(named: name)
            identity.isProfileProven = isFromProxy
        }
        if isFromProxy { identity.user = proxyUser(request) }
        guard let verifier = policy.tokens, let value = request.header("Authorization") else { return identity }
        do throws(TokenFault) {
            guard let token = MediaType.bearerToken(value) else { throw .invalid }
            let claims = try verifier.verify(token, at: clock.wallSeconds)
            metrics.tokens["valid"].increment()
            identity.user = claims.user.map { Admission.User(id: $0, account: claims.account) }
            identity.isServer = claims.isServer
            if let client = claims.client {
                identity.profile = policy.profile(named: client)
                identity.isProfileProven = true
            }
            return identity
        } catch {
            metrics.tokens[error.rawValue].increment()
            throw error
        }
    }

    /// The user that a trusted proxy names; one that is no opaque id is nobody.
    private func proxyUser(_ request: ServerRequest) -> Admission.User? {
        guard let id = request.header("X-User-ID"), !id.isEmpty else { return nil }
        guard OpaqueID.isValid(id) else {
            logger.warning("A trusted proxy sent an X-User-ID that is no opaque id; it was ignored")
            return nil
        }
        let account = request.header("X-Account-ID").flatMap { OpaqueID.isValid($0) ? Array($0) : nil }
        return Admission.User(id: Array(id), account: account)
    }

    private func unauthorized(_ fault: TokenFault) -> ServerAnswer {
        metrics.refusedBodies[fault.rawValue].increment()
        let detail =
            switch fault {
            case .invalid: "the token is not valid here"
            case .expired: "the token has expired"
            case .notYetValid: "the token is not valid yet"
            case .notForUs: "the token is for another service"
            case .noUser: "the token names no user by an opaque id"
            }
        return .error(
            status: 401,
            code: fault.rawValue,
            detail: detail,
            names.make(),
            headers: [("WWW-Authenticate", "Bearer error=\"invalid_token\"")]
        )
    }
}
