// SPDX-License-Identifier: Apache-2.0
import SluiceTestSupport
import SpoolModel
import Testing

/// What the disk of the model keeps through the end of all processes and through a loss of power.
struct DiskTests {
    private var disk = Disk()
    private var nextHandle = 1

    init() {
        disk.apply(.makeFolder(path: "incoming"))
        disk.apply(.makeFolder(path: "ready"))
        disk.apply(.makeFolder(path: "claimed"))
        disk = Disk(disk.snapshot())
    }

    private mutating func open(_ path: String, isCreated: Bool = false) -> Int {
        defer { nextHandle += 1 }
        disk.apply(.open(handle: nextHandle, path: path, isCreated: isCreated, isCut: false))
        return nextHandle
    }

    @discardableResult
    private mutating func make(_ path: String, _ text: String) -> Int {
        let handle = open(path, isCreated: true)
        disk.apply(.write(handle: handle, offset: 0, bytes: Array(text.utf8)))
        return handle
    }

    private mutating func sync(_ path: String) { disk.apply(.sync(handle: open(path))) }

    /// The files of many states that a loss of power may leave, as texts.
    private func states(_ losses: [Disk.Loss] = Disk.Loss.allCases) -> Set<[String: String]> {
        var random = SeededGenerator(seed: 1)
        var states: Set<[String: String]> = []
        for _ in 0..<500 {
            for loss in losses {
                let files = disk.snapshot(after: loss, using: &random).files
                states.insert(files.mapValues { String(decoding: $0, as: UTF8.self) })
            }
        }
        return states
    }

    @Test mutating func `the end of all processes takes nothing`() {
        make("incoming/a", "text")
        #expect(disk.snapshot().files == ["incoming/a": Array("text".utf8)])
        #expect(disk.snapshot().folders == ["incoming", "ready", "claimed"])
    }

    @Test mutating func `a file is sure once its content and its folder were synced`() {
        let handle = make("incoming/a", "text")
        #expect(states().contains([:]))
        disk.apply(.sync(handle: handle))
        #expect(states() == [[:], ["incoming/a": "text"]])
        sync("incoming")
        #expect(states() == [["incoming/a": "text"]])
    }

    @Test mutating func `what was written since the last sync is there, cut, zeros or gone`() {
        let handle = make("incoming/a", "one,")
        disk.apply(.sync(handle: handle))
        sync("incoming")
        disk.apply(.write(handle: handle, offset: 4, bytes: Array("two".utf8)))
        let found = Set(states().map { $0["incoming/a"] ?? "no file" })
        #expect(found.isSuperset(of: ["one,", "one,t", "one,tw", "one,two", "one,\0\0\0", "one,t\0\0"]))
        #expect(found.allSatisfy { $0.hasPrefix("one,") && $0.utf8.count <= 7 })
    }

    @Test mutating func `an earlier write can be lost and a later one kept`() {
        let handle = open("incoming/a", isCreated: true)
        sync("incoming")
        disk.apply(.write(handle: handle, offset: 0, bytes: [0x61, 0x62]))
        disk.apply(.write(handle: handle, offset: 2, bytes: [0x63, 0x64]))
        #expect(states().contains(["incoming/a": "\0\0cd"]))
    }

    @Test mutating func `a rename leaves the old name or the new`() {
        let handle = make("incoming/a", "text")
        disk.apply(.sync(handle: handle))
        sync("incoming")
        disk.apply(.rename(source: "incoming/a", target: "ready/a"))
        #expect(states() == [["incoming/a": "text"], ["ready/a": "text"]])
        sync("ready")
        #expect(states() == [["ready/a": "text"]])
    }

    @Test mutating func `a segment that leaves a folder that was synced alone may be lost, except by a claim`() {
        disk.apply(.sync(handle: make("incoming/a", "one")))
        disk.apply(.sync(handle: make("ready/b", "two")))
        sync("incoming")
        sync("ready")
        disk.apply(.rename(source: "incoming/a", target: "ready/a"))
        disk.apply(.rename(source: "ready/b", target: "claimed/b"))
        sync("incoming")
        #expect(states().contains { $0["incoming/a"] == nil && $0["ready/a"] == nil })
        sync("ready")
        #expect(states() == [["ready/a": "one", "claimed/b": "two"]])
    }

    @Test mutating func `nothing comes to stand in a folder that is not there`() {
        disk.apply(.sync(handle: make("ready/a", "text")))
        sync("ready")
        disk.apply(.makeFolder(path: "claimed/.new-w"))
        disk.apply(.rename(source: "claimed/.new-w", target: "claimed/w"))
        disk.apply(.rename(source: "ready/a", target: "claimed/w/a"))
        #expect(states() == [["ready/a": "text"], ["claimed/w/a": "text"], ["claimed/.new-w/a": "text"]])
        // The folder that it went to is as sure as the claim.
        sync("ready")
        #expect(states() == [["claimed/w/a": "text"]])
    }

    @Test mutating func `a removal can be undone until its folder was synced`() {
        disk.apply(.sync(handle: make("ready/a", "text")))
        sync("ready")
        disk.apply(.remove(path: "ready/a"))
        #expect(states() == [[:], ["ready/a": "text"]])
        sync("ready")
        #expect(states() == [[:]])
    }

    @Test mutating func `a folder that is gone for sure was empty for sure`() {
        disk.apply(.makeFolder(path: "claimed/w"))
        sync("claimed")
        disk.apply(.sync(handle: make("claimed/w/a", "text")))
        sync("claimed/w")
        disk.apply(.remove(path: "claimed/w/a"))
        disk.apply(.removeFolder(path: "claimed/w"))
        #expect(states() == [[:], ["claimed/w/a": "text"]])
        sync("claimed")
        #expect(states() == [[:]])
    }

    @Test mutating func `shared memory is kept page by page, each as it was at some moment`() {
        let handle = make("duplicates", String(repeating: "-", count: 8192))
        disk.apply(.sync(handle: handle))
        sync("")
        for (offset, letter) in [(0, "a"), (4096, "b"), (0, "c")] {
            disk.apply(.mapped(handle: handle, offset: offset, bytes: Array(letter.utf8)))
        }
        let found = Set(
            states([.some]).map { state in
                let text = Array((state["duplicates"] ?? "").utf8)
                return String(decoding: [text[0], text[4096]], as: UTF8.self)
            }
        )
        #expect(found == ["--", "a-", "c-", "-b", "ab", "cb"])
    }

    @Test mutating func `what a killed process left unsynced is still unsynced for the next one`() {
        let handle = make("incoming/a", "text")
        disk.apply(.sync(handle: handle))
        disk.closeAll()
        #expect(states() == [[:], ["incoming/a": "text"]])
    }
}
