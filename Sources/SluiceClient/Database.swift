// SPDX-License-Identifier: Apache-2.0
#if canImport(SQLite3)
internal import SQLite3
#else
internal import CSluiceSQLite
#endif

/// One connection to an SQLite file; used by one actor, so it needs no lock.
package final class Database {
    /// How long a statement waits for another process.
    static let busyMilliseconds: Int32 = 500

    private let handle: OpaquePointer
    private var statements: [String: Statement] = [:]

    /// Opens a file.
    ///
    /// - Throws: `damaged` only if the file was read and is no database.
    package init(_ path: String, creates: Bool) throws(StorageError) {
        var flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (creates ? SQLITE_OPEN_CREATE : 0)
        #if os(iOS) && !targetEnvironment(simulator) && !targetEnvironment(macCatalyst)
        flags |= SQLITE_OPEN_FILEPROTECTION_COMPLETEUNTILFIRSTUSERAUTHENTICATION
        #endif
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            defer { sqlite3_close_v2(opened) }
            throw StorageError(code: code, handle: opened)
        }
        handle = opened
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, Self.busyMilliseconds)
    }

    deinit {
        statements.removeAll()
        sqlite3_close_v2(handle)
    }

    /// Rows that the last statement changed.
    package var changes: Int { Int(sqlite3_changes(handle)) }

    /// Whether the file at the path is another one now, or gone.
    package var hasMoved: Bool {
        var moved: Int32 = 0
        sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
        return moved != 0
    }

    /// Runs a statement to its end.
    package func run(_ sql: String, _ values: SQLValue...) throws(StorageError) {
        try each(sql, values) { _ in true }
    }

    /// The rows of a query, as long as `body` wants more.
    package func each(
        _ sql: String,
        _ values: [SQLValue] = [],
        _ body: (SQLRow) -> Bool
    ) throws(StorageError) {
        let statement = try statement(sql)
        defer { statement.reset() }
        for (index, value) in values.enumerated() {
            try check(statement.bind(value, at: Int32(index + 1)))
        }
        while true {
            let code = sqlite3_step(statement.handle)
            if code == SQLITE_DONE { return }
            guard code == SQLITE_ROW else { throw StorageError(code: code, handle: handle) }
            if !body(SQLRow(statement: statement.handle)) { return }
        }
    }

    /// The first row's value, or nil without a row.
    package func first<Value>(
        _ sql: String,
        _ values: SQLValue...,
        read: (SQLRow) -> Value
    ) throws(StorageError) -> Value? {
        var value: Value?
        try each(sql, values) { row in
            value = read(row)
            return false
        }
        return value
    }

    /// Does all of it or nothing.
    package func transaction<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try run("BEGIN IMMEDIATE")
        do throws(StorageError) {
            let value = try body()
            try run("COMMIT")
            return value
        } catch {
            try? run("ROLLBACK")  // SQLite has done it already after some errors
            throw error
        }
    }

    private func statement(_ sql: String) throws(StorageError) -> Statement {
        if let known = statements[sql] { return known }
        var prepared: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &prepared, nil))
        guard let prepared else { throw StorageError(kind: .passing, code: 0, detail: "an empty statement") }
        let statement = Statement(handle: prepared)
        statements[sql] = statement
        return statement
    }

    private func check(_ code: Int32) throws(StorageError) {
        if code != SQLITE_OK { throw StorageError(code: code, handle: handle) }
    }
}

/// A row, only to be read while the query runs.
package struct SQLRow {
    fileprivate let statement: OpaquePointer

    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }
    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }
    package func count(_ column: Int32) -> Int { Int(integer(column)) }
    package func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
    package func textIfAny(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
    package func integerIfAny(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    package func bytes(_ column: Int32) -> [UInt8] {
        let start = sqlite3_column_blob(statement, column)
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }
}

/// A prepared statement, finalised with its last reference: one that is left open would hold a lock.
private final class Statement {
    /// SQLITE_TRANSIENT, a macro that Swift does not see: SQLite copies what is bound.
    private static let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    let handle: OpaquePointer

    init(handle: OpaquePointer) { self.handle = handle }

    deinit { sqlite3_finalize(handle) }

    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    func bind(_ value: SQLValue, at index: Int32) -> Int32 {
        switch value {
        case .null: sqlite3_bind_null(handle, index)
        case .integer(let number): sqlite3_bind_int64(handle, index, number)
        case .text(let text): sqlite3_bind_text(handle, index, text, Int32(text.utf8.count), Self.copies)
        case .bytes(let bytes): sqlite3_bind_blob(handle, index, bytes, Int32(bytes.count), Self.copies)
        }
    }
}

extension StorageError {
    fileprivate init(code: Int32, handle: OpaquePointer?) {
        let kind: Kind = [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) ? .damaged : .passing
        let detail = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "no memory"
        self.init(kind: kind, code: code, detail: detail)
    }
}
