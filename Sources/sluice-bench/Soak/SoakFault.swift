// SPDX-License-Identifier: Apache-2.0
import SluiceSoak

/// Kinds of faults, as the command line names them.
enum SoakFaultKind: String, CaseIterable, Sendable {
    /// SIGKILL of a program, and its start again.
    case kill
    /// SIGTERM of a program, and its start again.
    case stop
    /// Connections to the endpoint that are reset in the middle.
    case reset
    /// The disk filled up, and freed.
    case disk
    /// A program whose clock is stepped.
    case clock
    /// Bytes of sealed segments overwritten.
    case damage
    /// `quarantine replay` under way, now and then killed.
    case replay
    /// Events that the destination refuses, or fails on.
    case poison
    case busy429 = "429"
    case failing500 = "500"
    case unavailable503 = "503"
    case tooLarge413 = "413"
    case unauthorized401 = "401"
    /// The destination answers late.
    case slow
    /// The destination takes requests and does not answer.
    case cut
    /// The destination resets connections.
    case drop

    /// How often it comes in a round of faults; `poison` is always there.
    var share: Int {
        switch self {
        case .kill: 4
        case .stop: 2
        case .damage: 3
        case .replay: 2
        case .poison: 0
        default: 1
        }
    }

    static let upstream: [SoakFaultKind] = [
        .busy429, .failing500, .unavailable503, .tooLarge413, .unauthorized401, .slow, .cut, .drop,
    ]

    /// What the destination does, if it is the one that does wrong.
    func upstreamFault(_ random: inout SoakRandom) -> UpstreamFault? {
        switch self {
        case .busy429: UpstreamFault(.tooMany, 1)
        case .failing500: UpstreamFault(.failure, UInt32(100 + random.below(900)))
        case .unavailable503: UpstreamFault(.unavailable, random.isTrue ? 1000 : 300)
        case .tooLarge413: UpstreamFault(.tooLarge, 3500)
        case .unauthorized401: UpstreamFault(.unauthorized)
        case .slow: UpstreamFault(.slow, random.isTrue ? 400 : 8000)
        case .cut: UpstreamFault(.cut, UInt32(50 + random.below(950)))
        case .drop: UpstreamFault(.reset, UInt32(50 + random.below(950)))
        default: nil
        }
    }
}
