// SPDX-License-Identifier: Apache-2.0
// What the three parts of the library share: see CSluiceFaults.h for what it does.
#pragma once

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#pragma GCC visibility push(hidden)

enum call {
    CALL_OPEN = 1 << 0,
    CALL_CREATE = 1 << 1,
    CALL_READ = 1 << 2,
    CALL_WRITE = 1 << 3,
    CALL_FSYNC = 1 << 4,
    CALL_FDATASYNC = 1 << 5,
    CALL_RENAME = 1 << 6,
    CALL_UNLINK = 1 << 7,
    CALL_RMDIR = 1 << 8,
    CALL_MKDIR = 1 << 9,
    CALL_LINK = 1 << 10,
    CALL_TRUNCATE = 1 << 11,
    CALL_RESERVE = 1 << 12,
    CALL_LOCK = 1 << 13,
};

struct operation {
    unsigned calls;          // of enum call, more than one bit for an opening that creates
    char path[PATH_MAX];     // below the root
    char target[PATH_MAX];   // of a rename or link, else empty
    int failure;             // the errno to fail with, or 0
    size_t limit;            // bytes to handle at most
    bool kills_after;
    bool is_recorded;        // between sluice_begin and sluice_end the log is locked
};

// rules.c
void sluice_read_rules_path(const char *path);
// Decides about the operation: waits, kills, or sets failure, limit and kills_after.
void sluice_apply_rules(struct operation *operation);
_Noreturn void sluice_kill(void);

// log.c
void sluice_open_log(const char *path, const char *record);
bool sluice_records_changes(void);
bool sluice_records_traffic(void);
bool sluice_records_exit(void);
void sluice_lock_log(void);
void sluice_unlock_log(void);
struct entry {
    const char *operation;
    uint64_t inode;
    int64_t result;
    int64_t offset;
    int64_t length;
    const char *path;
    const char *target;
    const struct iovec *bytes;   // of which the first `length` follow the line; NULL for none
    int byte_parts;
};
// Appends an entry; the log must be locked.
void sluice_append(const struct entry *entry);
// Notes that a rule acted.
void sluice_note_fault(const struct operation *operation, const char *call, const char *action);

// calls.c
extern long (*sluice_real_syscall)(long, ...);

#pragma GCC visibility pop
