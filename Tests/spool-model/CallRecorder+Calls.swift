// SPDX-License-Identifier: Apache-2.0
import CCallRecorder
import SpoolModel

extension CallRecorder {
    /// The calls of this process.
    static let calls = CallRecorder(
        start: { call_recorder_start($0) },
        stop: { call_recorder_stop() },
        mark: { call_recorder_mark(UInt64($0)) },
        operations: { (0..<call_recorder_count()).map { FileOperation(call_recorder_record($0)) } },
        seed: { call_recorder_seed($0) }
    )
}

extension FileOperation {
    init(_ record: call_record) {
        let handle = Int(record.handle)
        let offset = Int(record.offset)
        let bytes = Array(UnsafeBufferPointer(start: record.bytes, count: record.count))
        let path = record.path.map { String(cString: $0) } ?? ""
        self =
            switch call_kind(UInt32(record.kind)) {
            case call_open: .open(handle: handle, path: path, isCreated: record.value == 1, isCut: record.value == 2)
            case call_close: .close(handle: handle)
            case call_write: .write(handle: handle, offset: offset, bytes: bytes)
            case call_mapped: .mapped(handle: handle, offset: offset, bytes: bytes)
            case call_resize: .resize(handle: handle, size: offset)
            case call_sync: .sync(handle: handle)
            case call_rename: .rename(source: path, target: record.target.map { String(cString: $0) } ?? "")
            case call_remove: .remove(path: path)
            case call_make_folder: .makeFolder(path: path)
            case call_remove_folder: .removeFolder(path: path)
            default: .mark(Int(record.value))
            }
    }
}
