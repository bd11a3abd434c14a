// SPDX-License-Identifier: Apache-2.0

/// One call that changed files below a spool's root, or something that a driver noted between two calls.
///
/// Paths are relative to the root.
package enum FileOperation: Hashable, Sendable {
    /// `handle` names this opening of the file until it is closed.
    case open(handle: Int, path: String, isCreated: Bool, isCut: Bool)
    case close(handle: Int)
    case write(handle: Int, offset: Int, bytes: [UInt8])
    /// The same through shared memory: reaches the disk page by page, whenever the kernel likes.
    case mapped(handle: Int, offset: Int, bytes: [UInt8])
    case resize(handle: Int, size: Int)
    /// `fsync` or `fdatasync` of a file, `fsync` of a folder.
    case sync(handle: Int)
    /// A name that was there is replaced.
    case rename(source: String, target: String)
    case remove(path: String)
    case makeFolder(path: String)
    case removeFolder(path: String)
    /// The driver's own; says nothing about files.
    case mark(Int)

    /// Whether a machine that ends after it may leave another state than one that ends before.
    package var isMoment: Bool {
        switch self {
        case .open(_, _, let isCreated, let isCut): isCreated || isCut
        case .write, .mapped, .resize, .sync, .rename, .remove, .makeFolder, .removeFolder, .mark: true
        case .close: false
        }
    }

    /// One line for reports.
    package var summary: String {
        switch self {
        case .open(let handle, let path, let isCreated, let isCut):
            "open \(path) as \(handle)\(isCreated ? ", made" : "")\(isCut ? ", cut" : "")"
        case .close(let handle): "close \(handle)"
        case .write(let handle, let offset, let bytes): "write \(handle): \(bytes.count) bytes at \(offset)"
        case .mapped(let handle, let offset, let bytes): "mapped \(handle): \(bytes.count) bytes at \(offset)"
        case .resize(let handle, let size): "resize \(handle) to \(size)"
        case .sync(let handle): "sync \(handle)"
        case .rename(let source, let target): "rename \(source) to \(target)"
        case .remove(let path): "remove \(path)"
        case .makeFolder(let path): "make folder \(path)"
        case .removeFolder(let path): "remove folder \(path)"
        case .mark(let number): "mark \(number)"
        }
    }
}
