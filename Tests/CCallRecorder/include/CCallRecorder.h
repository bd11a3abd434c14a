// SPDX-License-Identifier: Apache-2.0
// Records every call that changes files below one folder, with its bytes, in the order in which the calls took effect.
//
// A program that links this has its own open, write, fsync and so on, which come before the C library's. Below the
// recorded folder, syncs are noted and not done: what a sync is worth is decided by whoever reads the recording.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum call_kind {
    // A file or folder was opened; `value` tells whether it was created (1) or cut to nothing (2).
    call_open = 1,
    call_close,
    // `bytes` at `offset`.
    call_write,
    // The same through shared memory.
    call_mapped,
    // The length is `offset` now.
    call_resize,
    call_sync,
    // `path` became `target`.
    call_rename,
    call_remove,
    call_make_folder,
    call_remove_folder,
    // `value` is the caller's.
    call_mark,
};

struct call_record {
    int32_t kind;
    // Which opening of a file; never used twice in a recording.
    int32_t handle;
    int64_t offset;
    uint64_t value;
    const char *path;
    const char *target;
    const uint8_t *bytes;
    size_t count;
};

// Begins an empty recording of what happens below `root`, an absolute path without links.
void call_recorder_start(const char *root);

// Ends the recording; its records stay until the next begins.
void call_recorder_stop(void);

// Notes something of the caller's own.
void call_recorder_mark(uint64_t value);

size_t call_recorder_count(void);
struct call_record call_recorder_record(size_t index);

// Makes the random numbers of this process a sequence that `seed` decides; 0 makes them random again.
void call_recorder_seed(uint64_t seed);
