// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport

extension SampleSpool {
    /// Three segments and a dead relay's claim, with everything in them that a relay treats apart.
    ///
    /// The record `<prefix>-bad` is to be refused by the destination.
    static func mixed(_ prefix: String) throws -> SampleSpool {
        let sample = try SampleSpool()
        func record(_ id: String, _ second: Int, quarantine: String? = nil) -> String {
            Self.record("\(prefix)-\(id)", timestamp: 1_796_000_000 + second, quarantine: quarantine)
        }
        // Two requests at least for each segment, since they are of different seconds.
        try sample.seal(
            frames: [[record("a0", 0), record("a1", 0)], [record("a2", 1), record("a3", 1, quarantine: "late")]],
            sequence: 0
        )
        try sample.seal(frames: [[record("b0", 2), record("bad", 2)], [record("b1", 3)]], sequence: 1)

        try sample.leaveOpen(frames: [[record("c0", 4), record("c1", 4)], [record("torn", 4)]], sequence: 2)

        let claimed = try sample.seal(frames: [[record("d0", 5), record("d1", 6)]], sequence: 3)
        try FileSystem.makeFolder("\(sample.spool.claimed)/dead")
        _ = try File(opening: "\(sample.spool.claimed)/dead/lock", O_RDWR | O_CREAT | O_EXCL)
        try FileSystem.move(sample.spool.ready(claimed), to: sample.spool.claimed(claimed, by: "dead"))
        return sample
    }

    /// Puts there what a killed writer left: no footer, no line in the ledger, the last frame torn.
    private func leaveOpen(frames: [[String]], sequence: Int) throws {
        let name = name(sequence)
        try write(frames, name, in: spool.incoming, as: name.openFileName, footer: false)
        let path = spool.incoming(name)
        let file = try File(opening: path, O_WRONLY)
        // A program that another thread starts at this moment holds a copy of the writer's lock until it runs.
        try file.lock()
        try file.truncate(to: try FileStatus(of: path).size - 9)
        try file.unlock()
    }

    /// What is delivered of a mixed spool, without the prefix.
    static let mixedDelivered = ["a0", "a1", "a2", "b0", "b1", "c0", "c1", "d0", "d1"]
    /// Records of it that end in quarantine.
    static let mixedQuarantined = 2
}
