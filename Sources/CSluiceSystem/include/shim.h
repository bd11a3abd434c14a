// SPDX-License-Identifier: Apache-2.0
// What Swift's view of the C library leaves out: calls behind feature macros, and loads and stores on shared memory.
#pragma once

#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static inline int sluice_rename_noreplace(const char *source, const char *target) {
    // RENAME_NOREPLACE is 1; see renameat2(2). AT_FDCWD is -100.
    return (int)syscall(SYS_renameat2, -100, source, -100, target, 1u);
}

static inline int sluice_filesystem_type(const char *path, int64_t *type) {
    struct statfs value;
    int result = statfs(path, &value);
    if (result == 0) *type = (int64_t)value.f_type;
    return result;
}

// Names the calling thread for ps and top; the kernel keeps 15 bytes.
static inline void sluice_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

static inline uint64_t sluice_load_acquire_u64(const void *address) {
    return __atomic_load_n((const uint64_t *)address, __ATOMIC_ACQUIRE);
}

static inline void sluice_store_release_u64(void *address, uint64_t value) {
    __atomic_store_n((uint64_t *)address, value, __ATOMIC_RELEASE);
}

static inline uint64_t sluice_load_relaxed_u64(const void *address) {
    return __atomic_load_n((const uint64_t *)address, __ATOMIC_RELAXED);
}

static inline void sluice_store_relaxed_u64(void *address, uint64_t value) {
    __atomic_store_n((uint64_t *)address, value, __ATOMIC_RELAXED);
}

static inline int sluice_reserve_behind_end(int descriptor, int64_t offset, int64_t length) {
    // FALLOC_FL_KEEP_SIZE is 1; see fallocate(2). posix_fallocate(3) would make the file longer.
    return (int)syscall(SYS_fallocate, descriptor, 1, offset, length);
}

static inline int sluice_punch_hole(int descriptor, int64_t offset, int64_t length) {
    // FALLOC_FL_PUNCH_HOLE and FALLOC_FL_KEEP_SIZE; see fallocate(2).
    return (int)syscall(SYS_fallocate, descriptor, 3, offset, length);
}

extern char **environ;

static inline char **sluice_environment(void) { return environ; }

// Puts `value` where `expected` stands; 0 when something else stands there.
static inline int sluice_exchange_u64(void *address, uint64_t expected, uint64_t value) {
    return __atomic_compare_exchange_n((uint64_t *)address, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

// Adds and returns the sum.
static inline uint64_t sluice_add_u64(void *address, uint64_t value) {
    return __atomic_add_fetch((uint64_t *)address, value, __ATOMIC_ACQ_REL);
}

static inline void sluice_prefetch(const void *address) { __builtin_prefetch(address, 0, 1); }

static inline const void *sluice_find(const void *text, size_t length, const void *part, size_t part_length) {
    return memmem(text, length, part, part_length);
}

// epoll(7) without its header, which would bring types of its own that Swift takes from Glibc.
struct __attribute__((packed)) sluice_epoll_event {
    uint32_t events;
    uint64_t mark;
};

static inline int sluice_epoll_create(void) {
    return (int)syscall(SYS_epoll_create1, 02000000);
}

// Adds (1) or changes (3) a descriptor that is watched for input (1) and, where wanted, for room (4).
static inline int sluice_epoll_control(int epoll, int operation, int descriptor, int room, uint64_t mark) {
    struct sluice_epoll_event event = {room ? 5u : 1u, mark};
    return (int)syscall(SYS_epoll_ctl, epoll, operation, descriptor, &event);
}

static inline int sluice_epoll_wait(int epoll, struct sluice_epoll_event *events, int count, int milliseconds) {
    return (int)syscall(SYS_epoll_wait, epoll, events, count, milliseconds);
}

// Mapped files, see mapping.c.

// Watches over a mapping; its number, or -1 when there are too many.
int sluice_watch_mapping(void *memory, size_t length);
// Whether pages of it went away.
int sluice_mapping_is_lost(int number);
void sluice_forget_mapping(int number);
