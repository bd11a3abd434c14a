// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem
internal import Synchronization

extension Worker {
    /// Seconds after which a folder that never came into place is taken for a crash's.
    private static let abandonedAfter = 60

    /// Takes over the claims of all workers whose lock is free; `claimNext` hands them out.
    ///
    /// What cannot be taken over stays for the next time; `takeProblems` says why.
    ///
    /// - Returns: how many segments were taken over.
    @discardableResult
    package func adoptOrphans() throws(SpoolError) -> Int {
        guard isStillHeld else { return 0 }
        let names = try spoolCall { () throws(SystemError) in try FileSystem.names(in: spool.claimed) }
        var count = 0
        for other in names where !other.utf8.elementsEqual(name.utf8) {
            do throws(SystemError) {
                count += try adopt(other)
            } catch {
                // Wrong with this folder alone, or it passes, as a full disk does.
                state.withLock { $0.problems.append(SpoolError(error)) }
            }
        }
        return count
    }

    /// Workers other than this one that live and hold claims: their segments are nobody's to take.
    package func othersHoldClaims() throws(SpoolError) -> Bool {
        try spoolCall { () throws(SystemError) in
            for other in try FileSystem.names(in: spool.claimed) where !other.utf8.elementsEqual(name.utf8) {
                do throws(SystemError) {
                    let names = try FileSystem.names(in: "\(spool.claimed)/\(other)")
                    if names.contains(where: { SegmentName(sealedFileName: $0) != nil }) { return true }
                } catch {
                    if !error.isNoFolder { throw error }
                }
            }
            return false
        }
    }

    private func adopt(_ other: String) throws(SystemError) -> Int {
        let source = "\(spool.claimed)/\(other)"
        guard let status = try? FileStatus(of: source) else { return 0 }  // its worker closed it meanwhile
        guard status.isFolder else {
            let reason = status.reasonToIgnore ?? .foreignName
            state.withLock { $0.ignored.note(other, in: spool.claimed, reason: reason) }
            return 0
        }
        if other.utf8.starts(with: SegmentName.newPrefix.utf8) {
            try tidy(source, status)
            return 0
        }
        if try WorkerLock.clearPlace(in: source) {
            state.withLock { $0.ignored.note("\(other)/\(WorkerLock.name)", in: spool.claimed, reason: .foreignName) }
        }
        guard let lock = try WorkerLock.take(folder: source), lock.isHeld else { return 0 }
        let count = try takeSegments(from: source)
        try Self.dismantle(source)
        return count
    }

    private func takeSegments(from source: String) throws(SystemError) -> Int {
        var count = 0
        for name in try FileSystem.names(in: source) where !name.utf8.starts(with: SegmentName.newPrefix.utf8) {
            if name.utf8.elementsEqual(WorkerLock.name.utf8) { continue }
            guard let segment = SegmentName(sealedFileName: name) else {
                state.withLock { $0.ignored.note(name, in: source, reason: .foreignName) }
                continue
            }
            do throws(SystemError) {
                if let reason = try FileStatus(of: "\(source)/\(name)").reasonToIgnore {
                    state.withLock { $0.ignored.note(name, in: source, reason: reason) }
                    continue
                }
                try FileSystem.move("\(source)/\(name)", to: path(of: segment))
            } catch {
                if error.errno == ENOENT { continue }
                throw error
            }
            state.withLock { state in
                state.held.insert(segment)
                state.adopted.append(segment)
                state.adopted.sort()
            }
            count += 1
        }
        return count
    }

    /// Removes a folder that never came into place; its maker, should it live, starts over with another name.
    private func tidy(_ folder: String, _ status: FileStatus) throws(SystemError) {
        guard clock.wallSeconds - status.modifiedAt > Self.abandonedAfter else { return }
        do throws(SystemError) {
            let file = try File(opening: "\(folder)/\(WorkerLock.name)", O_RDWR)
            guard try file.tryLock() else { return }
            try Self.dismantle(folder)
        } catch {
            guard error.errno == ENOENT else { throw error }
            try Self.dismantle(folder)
        }
    }
}
