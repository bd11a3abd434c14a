// SPDX-License-Identifier: Apache-2.0
internal import CSluiceMicroHTTPD

private func request(_ context: UnsafeMutableRawPointer) -> ServerRequest {
    Unmanaged<ServerRequest>.fromOpaque(context).takeUnretainedValue()
}

func handleRequest(
    _: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?,
    _ piece: UnsafePointer<CChar>?,
    _ pieceSize: UnsafeMutablePointer<Int>?,
    _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context, let pieceSize else { return .NO }
    if let known = context.pointee {
        let bytes = UnsafeRawBufferPointer(start: piece, count: pieceSize.pointee)
        pieceSize.pointee = 0
        return request(known).proceed(bytes)
    }
    guard let connection, let url, let method, let version,
        let mine = sluice_mhd_socket_context(connection)
    else { return .NO }
    context.pointee = mine
    return request(mine).begin(url, method, version)
}

func requestEnded(
    _: UnsafeMutableRawPointer?,
    _: OpaquePointer?,
    _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _: MHD_RequestTerminationCode
) {
    guard let known = context?.pointee else { return }
    request(known).end()
}

func connectionChanged(
    _ server: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ change: MHD_ConnectionNotificationCode
) {
    guard let server, let connection, let context else { return }
    let me = Unmanaged<HTTPServer>.fromOpaque(server).takeUnretainedValue()
    if change == .CONNECTION_NOTIFY_STARTED {
        context.pointee = me.began(connection)
    } else if let known = context.pointee {
        context.pointee = nil
        me.ended(Unmanaged<ServerRequest>.fromOpaque(known).takeRetainedValue())
    }
}
