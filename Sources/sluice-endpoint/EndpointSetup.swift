// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceEvents
import SluiceSpool
import SluiceSystem

/// What the configuration means to the endpoint's parts.
struct EndpointSetup {
    let configuration: Configuration

    init(_ source: ConfigurationSource) throws(ConfigurationError) {
        configuration = try source.load()
    }

    /// - Throws: exit code 78, with every problem of the contract on a line of its own.
    func contract() throws(CommandError) -> Contract {
        guard let file = configuration.endpoint.contract else {
            throw CommandError(
                .configuration,
                "endpoint.contract: a contract is needed to tell which events are taken; name its file with --contract FILE"
            )
        }
        do throws(ContractError) {
            return try Contract(file: file)
        } catch {
            throw CommandError(.configuration, "\(error)")
        }
    }

    var limits: EventLimits {
        EventLimits(
            maximumBodyBytes: configuration.endpoint.maxBodyBytes,
            maximumEvents: configuration.endpoint.maxEvents,
            maximumEventBytes: configuration.endpoint.maxEventBytes,
            maximumProperties: configuration.endpoint.maxProperties
        )
    }

    var clock: ClockPolicy {
        ClockPolicy(
            maximumAge: configuration.clock.maxAgeSeconds,
            onAge: ClockPolicy.Action(configuration.clock.maxAgeAction),
            maximumFuture: configuration.clock.maxFutureSeconds,
            onFuture: ClockPolicy.Action(configuration.clock.maxFutureAction)
        )
    }

    /// How segments are written into the spool at `root`.
    func writerOptions(root: String) throws(SystemError) -> SegmentWriterOptions {
        var options = SegmentWriterOptions()
        options.sealBytes = configuration.spool.segmentBytes
        options.sealAge = configuration.spool.segmentAge
        options.maximumSpoolBytes = configuration.spool.maxBytes
        options.minimumFreeBytes = configuration.spool.minFreeBytes
        if options.minimumFreeBytes == 0 {
            options.minimumFreeBytes = min(try FileSystem.totalBytes(at: root) / 64, 256 << 20)
        }
        return options
    }
}

extension ClockPolicy.Action {
    init(_ action: Configuration.ClockAction) {
        switch action {
        case .reject: self = .reject
        case .quarantine: self = .quarantine
        case .clamp: self = .clamp
        case .off: self = .off
        }
    }
}
