// SPDX-License-Identifier: Apache-2.0
package import SluiceEvents
package import SluiceSpool
package import SluiceSystem

/// What the settings mean to the parts that several commands use.
extension Configuration {
    package var clockPolicy: ClockPolicy {
        ClockPolicy(
            maximumAge: clock.maxAgeSeconds,
            onAge: ClockPolicy.Action(clock.maxAgeAction),
            maximumFuture: clock.maxFutureSeconds,
            onFuture: ClockPolicy.Action(clock.maxFutureAction)
        )
    }

    package var eventLimits: EventLimits {
        EventLimits(
            maximumBodyBytes: endpoint.maxBodyBytes,
            maximumEvents: endpoint.maxEvents,
            maximumEventBytes: endpoint.maxEventBytes,
            maximumProperties: endpoint.maxProperties
        )
    }

    /// How segments are written into the spool at `root`.
    package func segmentWriterOptions(root: String) throws(SystemError) -> SegmentWriterOptions {
        var options = SegmentWriterOptions()
        options.sealBytes = spool.segmentBytes
        options.sealAge = spool.segmentAge
        options.maximumSpoolBytes = spool.maxBytes
        options.minimumFreeBytes = spool.minFreeBytes
        if options.minimumFreeBytes == 0 {
            options.minimumFreeBytes = min(try FileSystem.totalBytes(at: root) / 64, 256 << 20)
        }
        return options
    }

    /// The contract that `endpoint.contract` names; nil when it names none.
    ///
    /// - Throws: every problem of the file.
    package func contract() throws(ConfigurationError) -> Contract? {
        guard let file = endpoint.contract else { return nil }
        do throws(ContractError) {
            return try Contract(file: file)
        } catch {
            throw ConfigurationError(error.problems.map { "\(error.file): \($0)" })
        }
    }
}

extension ClockPolicy.Action {
    fileprivate init(_ action: Configuration.ClockAction) {
        switch action {
        case .reject: self = .reject
        case .quarantine: self = .quarantine
        case .clamp: self = .clamp
        case .off: self = .off
        }
    }
}
