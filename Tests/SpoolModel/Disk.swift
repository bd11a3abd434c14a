// SPDX-License-Identifier: Apache-2.0

/// What a disk holds, what of it is sure to be there after a loss of power, and what is not.
///
/// It follows the strictest reading of POSIX that journalling filesystems keep:
/// * A file's content is sure up to its last `fsync` or `fdatasync`. Of everything after, any part may be missing.
/// * A name is sure once the folder it stands in was synced after it got there, or lost there once the folder was synced
///   after that. Of all other changes of names any subset may survive, in whatever order they were made; a change that
///   makes no sense without another that did not survive, such as a file in a folder that is not there, does not survive
///   either, and is sure only together with it.
/// * A rename happens or does not; it is sure once either folder was synced. Exception, see `Rename`.
package struct Disk: Sendable {
    typealias Node = Int
    static let root: Node = 0

    struct File: Sendable {
        /// What is sure to be there.
        var durable: [UInt8] = []
        /// What was done to it since, oldest first.
        var changes: [Change] = []
        var current: [UInt8] = []
    }

    enum Change: Sendable {
        case write(offset: Int, bytes: [UInt8])
        case mapped(offset: Int, bytes: [UInt8])
        case resize(Int)

        func apply(to content: inout [UInt8]) {
            switch self {
            case .write(let offset, let bytes), .mapped(let offset, let bytes):
                let end = offset + bytes.count
                if end > content.count { content += [UInt8](repeating: 0, count: end - content.count) }
                content.replaceSubrange(offset..<end, with: bytes)
            case .resize(let size):
                if size < content.count {
                    content.removeLast(content.count - size)
                } else {
                    content += [UInt8](repeating: 0, count: size - content.count)
                }
            }
        }
    }

    struct Place: Hashable, Sendable {
        var folder: Node
        var name: String
    }

    /// A rename between two folders.
    ///
    /// Only claims count on a rename that happens whole or not at all. Where a segment is sealed, recovered or put back
    /// from quarantine, the new name is synced before the old one goes: there the disk may also lose the new name of a
    /// rename whose old folder alone was synced.
    struct Rename: Sendable {
        var source: Place
        var target: Place
        /// Whether the old name may be gone for sure while the new one is not.
        var maySplit: Bool
        var isSourceDurable = false
    }

    enum NameChange: Sendable {
        case add(Place)
        case move(Rename)
        case remove(Place)
    }

    struct NameRecord: Sendable {
        var node: Node
        var change: NameChange
        var isDurable = false
    }

    /// Names in folders.
    struct Names: Sendable {
        var folders: [Node: [String: Node]] = [Disk.root: [:]]
        /// Where each node stands.
        var places: [Node: Place] = [:]

        func node(at path: String) -> Node? {
            var node = Disk.root
            for part in path.split(separator: "/") {
                guard let next = folders[node]?[String(part)] else { return nil }
                node = next
            }
            return node
        }

        mutating func put(_ node: Node, at place: Place) {
            if let old = places[node] { folders[old.folder]?[old.name] = nil }
            if let replaced = folders[place.folder]?[place.name] { places[replaced] = nil }
            folders[place.folder, default: [:]][place.name] = node
            places[node] = place
        }

        mutating func take(_ node: Node) {
            if let old = places.removeValue(forKey: node) { folders[old.folder]?[old.name] = nil }
        }

        /// Whether the folder can be reached from the root.
        func has(folder: Node) -> Bool {
            var node = folder
            while node != Disk.root {
                guard let place = places[node] else { return false }
                node = place.folder
            }
            return true
        }
    }

    var files: [Node: File] = [:]
    /// What is sure.
    var base = Names()
    /// What was done since, oldest first; what stands behind something unsure may be sure.
    var nameRecords: [NameRecord] = []
    var names = Names()
    private var handles: [Int: Node] = [:]
    private var nextNode: Node = 1

    /// A disk on which everything is sure.
    package init(_ snapshot: DiskSnapshot = DiskSnapshot()) {
        for path in snapshot.folders.sorted() { _ = add(path, isFolder: true) }
        for path in snapshot.files.keys.sorted() {
            let content = snapshot.files[path] ?? []
            files[add(path, isFolder: false)] = File(durable: content, current: content)
        }
        base = names
        nameRecords.removeAll()
    }

    /// All open files are closed, as by the end of a process; what is not synced stays so.
    package mutating func closeAll() { handles.removeAll() }

    // MARK: Operations

    package mutating func apply(_ operation: FileOperation) {
        switch operation {
        case .open(let handle, let path, let isCreated, let isCut):
            let node = isCreated ? add(path, isFolder: false) : names.node(at: path)
            guard let node else { preconditionFailure("\(path) was opened and is not there") }
            handles[handle] = node
            if isCut { change(node, .resize(0)) }
        case .close(let handle): handles[handle] = nil
        case .write(let handle, let offset, let bytes): change(opened(handle), .write(offset: offset, bytes: bytes))
        case .mapped(let handle, let offset, let bytes): change(opened(handle), .mapped(offset: offset, bytes: bytes))
        case .resize(let handle, let size): change(opened(handle), .resize(size))
        case .sync(let handle): sync(opened(handle))
        case .rename(let source, let target): rename(source, target)
        case .remove(let path), .removeFolder(let path):
            guard let node = names.node(at: path), let place = names.places[node] else {
                preconditionFailure("\(path) was removed and is not there")
            }
            names.take(node)
            nameRecords.append(NameRecord(node: node, change: .remove(place)))
        case .makeFolder(""): break
        case .makeFolder(let path): _ = add(path, isFolder: true)
        case .mark: break
        }
    }

    private func opened(_ handle: Int) -> Node {
        guard let node = handles[handle] else { preconditionFailure("handle \(handle) is not open") }
        return node
    }

    private func place(_ path: String) -> Place {
        let parts = path.split(separator: "/")
        guard let name = parts.last, let folder = names.node(at: parts.dropLast().joined(separator: "/")) else {
            preconditionFailure("the folder of \(path) is not there")
        }
        return Place(folder: folder, name: String(name))
    }

    private mutating func add(_ path: String, isFolder: Bool) -> Node {
        let node = nextNode
        nextNode += 1
        let place = place(path)
        names.put(node, at: place)
        if isFolder {
            names.folders[node] = [:]
        } else {
            files[node] = File()
        }
        nameRecords.append(NameRecord(node: node, change: .add(place)))
        return node
    }

    private mutating func change(_ node: Node, _ change: Change) {
        guard var file = files.removeValue(forKey: node) else { preconditionFailure("a folder has no content") }
        change.apply(to: &file.current)
        file.changes.append(change)
        files[node] = file
    }

    private mutating func rename(_ source: String, _ target: String) {
        guard let node = names.node(at: source), let old = names.places[node] else {
            preconditionFailure("\(source) was renamed and is not there")
        }
        let new = place(target)
        let isClaim = source.hasPrefix("ready/") || source.hasPrefix("claimed/")
        let rename = Rename(source: old, target: new, maySplit: old.folder != new.folder && !isClaim)
        names.put(node, at: new)
        nameRecords.append(NameRecord(node: node, change: .move(rename)))
    }

    // MARK: Syncs

    private mutating func sync(_ node: Node) {
        if var file = files.removeValue(forKey: node) {
            file.durable = file.current
            file.changes.removeAll()
            files[node] = file
            return
        }
        for index in nameRecords.indices where !nameRecords[index].isDurable {
            switch nameRecords[index].change {
            case .add(let place), .remove(let place): if place.folder == node { makeDurable(index) }
            case .move(var rename):
                if rename.target.folder == node || (rename.source.folder == node && !rename.maySplit) {
                    makeDurable(index)
                } else if rename.source.folder == node {
                    rename.isSourceDurable = true
                    nameRecords[index].change = .move(rename)
                }
            }
        }
        while let first = nameRecords.first, first.isDurable {
            base.apply(first)
            nameRecords.removeFirst()
        }
    }

    /// Makes a change sure, and with it what it needs: the folder that something came into, and that a folder that went
    /// was empty.
    private mutating func makeDurable(_ index: Int) {
        guard !nameRecords[index].isDurable else { return }
        nameRecords[index].isDurable = true
        let folder: Node
        switch nameRecords[index].change {
        case .add(let place): folder = place.folder
        case .move(let rename): folder = rename.target.folder
        case .remove:
            for earlier in 0..<index {
                switch nameRecords[earlier].change {
                case .remove(let place) where place.folder == nameRecords[index].node: makeDurable(earlier)
                case .move(let rename) where rename.source.folder == nameRecords[index].node: makeDurable(earlier)
                default: continue
                }
            }
            return
        }
        for earlier in 0..<index where nameRecords[earlier].node == folder { makeDurable(earlier) }
    }

    // MARK: States

    /// What the end of all processes leaves: everything.
    package func snapshot() -> DiskSnapshot { snapshot(names) { $0.current } }

    func snapshot(_ names: Names, content: (File) -> [UInt8]) -> DiskSnapshot {
        var result = DiskSnapshot()
        var queue: [(Node, String)] = [(Self.root, "")]
        while let (folder, path) = queue.popLast() {
            // In the order of names, so that what chance decides is the same each time.
            for (name, node) in (names.folders[folder] ?? [:]).sorted(by: { $0.key < $1.key }) {
                let inner = path.isEmpty ? name : "\(path)/\(name)"
                if let file = files[node] {
                    result.files[inner] = content(file)
                } else {
                    result.folders.insert(inner)
                    queue.append((node, inner))
                }
            }
        }
        return result
    }
}

extension Disk.Names {
    /// Applies a change that survived, unless it makes no sense here.
    mutating func apply(_ record: Disk.NameRecord) {
        switch record.change {
        case .add(let place):
            if has(folder: place.folder) {
                put(record.node, at: place)
                if folders[record.node] == nil { folders[record.node] = [:] }
            }
        case .move(let rename): if has(folder: rename.target.folder) { put(record.node, at: rename.target) }
        case .remove(let place):
            if places[record.node] == place && folders[record.node, default: [:]].isEmpty { take(record.node) }
        }
    }
}
