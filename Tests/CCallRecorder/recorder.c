// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "include/CCallRecorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAXIMUM_DESCRIPTORS 4096
#define MAXIMUM_MAPPINGS 16

// The C library's function of the same name.
#define NEXT(name, result, ...)                                                    \
    static result (*next)(__VA_ARGS__);                                            \
    if (next == NULL) next = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

struct mapping {
    int32_t handle;
    uint8_t *memory;
    uint8_t *known;
    size_t length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[4096];
static size_t root_length;
static bool is_recording;
static struct call_record *records;
static size_t record_count, record_room;
static int32_t next_handle;
static int32_t handles[MAXIMUM_DESCRIPTORS];
static struct mapping mappings[MAXIMUM_MAPPINGS];
static uint64_t random_state;

// What the folder's own path is, without the root; NULL outside of it.
static const char *inner(const char *path) {
    if (!is_recording || path == NULL || strncmp(path, root, root_length) != 0) return NULL;
    if (path[root_length] == 0) return "";
    return path[root_length] == '/' ? path + root_length + 1 : NULL;
}

static int32_t handle_of(int descriptor) {
    return is_recording && descriptor >= 0 && descriptor < MAXIMUM_DESCRIPTORS ? handles[descriptor] : 0;
}

static void push(struct call_record record) {
    if (record_count == record_room) {
        record_room = record_room == 0 ? 1024 : record_room * 2;
        records = realloc(records, record_room * sizeof(*records));
    }
    records[record_count++] = record;
}

static uint8_t *copied(const void *bytes, size_t count) {
    uint8_t *copy = malloc(count == 0 ? 1 : count);
    memcpy(copy, bytes, count);
    return copy;
}

// Notes what changed in shared memory since the last call.
static void note_mappings(void) {
    for (int index = 0; index < MAXIMUM_MAPPINGS; index++) {
        struct mapping *mapping = &mappings[index];
        if (mapping->memory == NULL || memcmp(mapping->memory, mapping->known, mapping->length) == 0) continue;
        for (size_t offset = 0; offset + 8 <= mapping->length; offset += 8) {
            uint64_t word = __atomic_load_n((uint64_t *)(mapping->memory + offset), __ATOMIC_ACQUIRE);
            if (memcmp(&word, mapping->known + offset, 8) == 0) continue;
            memcpy(mapping->known + offset, &word, 8);
            push((struct call_record){.kind = call_mapped, .handle = mapping->handle, .offset = (int64_t)offset,
                                      .bytes = copied(&word, 8), .count = 8});
        }
    }
}

static void note(struct call_record record) {
    int code = errno;
    note_mappings();
    if (record.path != NULL) record.path = strdup(record.path);
    if (record.target != NULL) record.target = strdup(record.target);
    if (record.bytes != NULL) record.bytes = copied(record.bytes, record.count);
    push(record);
    errno = code;
}

// MARK: - The recording

void call_recorder_start(const char *path) {
    pthread_mutex_lock(&lock);
    for (size_t index = 0; index < record_count; index++) {
        free((void *)records[index].path);
        free((void *)records[index].target);
        free((void *)records[index].bytes);
    }
    record_count = 0;
    next_handle = 1;
    memset(handles, 0, sizeof(handles));
    strncpy(root, path, sizeof(root) - 1);
    root_length = strlen(root);
    is_recording = true;
    pthread_mutex_unlock(&lock);
}

void call_recorder_stop(void) {
    pthread_mutex_lock(&lock);
    if (is_recording) note_mappings();
    is_recording = false;
    for (int index = 0; index < MAXIMUM_MAPPINGS; index++) {
        free(mappings[index].known);
        mappings[index] = (struct mapping){0};
    }
    pthread_mutex_unlock(&lock);
}

void call_recorder_mark(uint64_t value) {
    pthread_mutex_lock(&lock);
    if (is_recording) note((struct call_record){.kind = call_mark, .value = value});
    pthread_mutex_unlock(&lock);
}

size_t call_recorder_count(void) { return record_count; }

struct call_record call_recorder_record(size_t index) { return records[index]; }

// MARK: - Files

static void note_opened(int descriptor, const char *path, int flags, bool was_there) {
    if (descriptor < 0 || descriptor >= MAXIMUM_DESCRIPTORS) return;
    handles[descriptor] = next_handle++;
    uint64_t value = (flags & O_CREAT) != 0 && !was_there ? 1 : (flags & O_TRUNC) != 0 ? 2 : 0;
    note((struct call_record){.kind = call_open, .handle = handles[descriptor], .value = value, .path = path});
}

static int open_any(const char *path, int flags, mode_t mode) {
    NEXT("open", int, const char *, int, ...);
    if (inner(path) == NULL) return next(path, flags, mode);
    pthread_mutex_lock(&lock);
    struct stat status;
    bool was_there = lstat(path, &status) == 0;
    int descriptor = next(path, flags, mode);
    const char *name = inner(path);
    if (name != NULL) note_opened(descriptor, name, flags, was_there);
    pthread_mutex_unlock(&lock);
    return descriptor;
}

#define MODE_ARGUMENT(flags)                        \
    mode_t mode = 0;                                \
    if (((flags) & (O_CREAT | O_TMPFILE)) != 0) {   \
        va_list arguments;                          \
        va_start(arguments, flags);                 \
        mode = (mode_t)va_arg(arguments, int);      \
        va_end(arguments);                          \
    }

int open(const char *path, int flags, ...) {
    MODE_ARGUMENT(flags)
    return open_any(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE_ARGUMENT(flags)
    return open_any(path, flags, mode);
}

int close(int descriptor) {
    NEXT("close", int, int);
    if (handle_of(descriptor) == 0) return next(descriptor);
    pthread_mutex_lock(&lock);
    int32_t handle = handle_of(descriptor);
    if (handle != 0) {
        handles[descriptor] = 0;
        note((struct call_record){.kind = call_close, .handle = handle});
    }
    int result = next(descriptor);
    pthread_mutex_unlock(&lock);
    return result;
}

static void note_written(int descriptor, const void *bytes, ssize_t count, off_t offset) {
    int32_t handle = handle_of(descriptor);
    if (handle == 0 || count <= 0) return;
    note((struct call_record){.kind = call_write, .handle = handle, .offset = offset, .bytes = bytes,
                              .count = (size_t)count});
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    NEXT("write", ssize_t, int, const void *, size_t);
    if (handle_of(descriptor) == 0) return next(descriptor, bytes, count);
    pthread_mutex_lock(&lock);
    ssize_t written = next(descriptor, bytes, count);
    // With O_APPEND too, the position is behind what was written.
    if (written > 0) note_written(descriptor, bytes, written, lseek(descriptor, 0, SEEK_CUR) - written);
    pthread_mutex_unlock(&lock);
    return written;
}

static ssize_t pwrite_any(int descriptor, const void *bytes, size_t count, off_t offset) {
    NEXT("pwrite", ssize_t, int, const void *, size_t, off_t);
    if (handle_of(descriptor) == 0) return next(descriptor, bytes, count, offset);
    pthread_mutex_lock(&lock);
    ssize_t written = next(descriptor, bytes, count, offset);
    note_written(descriptor, bytes, written, offset);
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return pwrite_any(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t offset) {
    return pwrite_any(descriptor, bytes, count, offset);
}

static int ftruncate_any(int descriptor, off_t length) {
    NEXT("ftruncate", int, int, off_t);
    if (handle_of(descriptor) == 0) return next(descriptor, length);
    pthread_mutex_lock(&lock);
    int result = next(descriptor, length);
    int32_t handle = handle_of(descriptor);
    if (result == 0 && handle != 0)
        note((struct call_record){.kind = call_resize, .handle = handle, .offset = length});
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate(int descriptor, off_t length) { return ftruncate_any(descriptor, length); }
int ftruncate64(int descriptor, off_t length) { return ftruncate_any(descriptor, length); }

static int posix_fallocate_any(int descriptor, off_t offset, off_t length) {
    NEXT("posix_fallocate", int, int, off_t, off_t);
    if (handle_of(descriptor) == 0) return next(descriptor, offset, length);
    pthread_mutex_lock(&lock);
    struct stat before, after;
    fstat(descriptor, &before);
    int result = next(descriptor, offset, length);
    fstat(descriptor, &after);
    int32_t handle = handle_of(descriptor);
    if (handle != 0 && before.st_size != after.st_size)
        note((struct call_record){.kind = call_resize, .handle = handle, .offset = after.st_size});
    pthread_mutex_unlock(&lock);
    return result;
}

int posix_fallocate(int descriptor, off_t offset, off_t length) {
    return posix_fallocate_any(descriptor, offset, length);
}

int posix_fallocate64(int descriptor, off_t offset, off_t length) {
    return posix_fallocate_any(descriptor, offset, length);
}

static bool note_sync(int descriptor) {
    if (handle_of(descriptor) == 0) return false;
    pthread_mutex_lock(&lock);
    int32_t handle = handle_of(descriptor);
    if (handle != 0) note((struct call_record){.kind = call_sync, .handle = handle});
    pthread_mutex_unlock(&lock);
    return handle != 0;
}

int fsync(int descriptor) {
    NEXT("fsync", int, int);
    return note_sync(descriptor) ? 0 : next(descriptor);
}

int fdatasync(int descriptor) {
    NEXT("fdatasync", int, int);
    return note_sync(descriptor) ? 0 : next(descriptor);
}

// MARK: - Shared memory

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
    void *memory = (void *)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
    if (handle_of(descriptor) == 0 || memory == MAP_FAILED || (flags & MAP_SHARED) == 0 || offset != 0) return memory;
    pthread_mutex_lock(&lock);
    int32_t handle = handle_of(descriptor);
    for (int index = 0; index < MAXIMUM_MAPPINGS && handle != 0; index++) {
        if (mappings[index].memory != NULL) continue;
        mappings[index] = (struct mapping){handle, memory, copied(memory, length), length};
        break;
    }
    pthread_mutex_unlock(&lock);
    return memory;
}

int munmap(void *address, size_t length) {
    pthread_mutex_lock(&lock);
    for (int index = 0; index < MAXIMUM_MAPPINGS; index++) {
        if (address == NULL || mappings[index].memory != address) continue;
        if (is_recording) note_mappings();
        free(mappings[index].known);
        mappings[index] = (struct mapping){0};
    }
    pthread_mutex_unlock(&lock);
    return (int)syscall(SYS_munmap, address, length);
}

// MARK: - Names

// Does what `call` does, and notes `record` when it succeeded.
#define NOTING(path, call, ...)                                \
    if (inner(path) == NULL) return call;                      \
    pthread_mutex_lock(&lock);                                 \
    int result = (int)(call);                                  \
    if (result == 0 && inner(path) != NULL) note((struct call_record){__VA_ARGS__}); \
    pthread_mutex_unlock(&lock);                               \
    return result

int rename(const char *source, const char *target) {
    NEXT("rename", int, const char *, const char *);
    NOTING(source, next(source, target), .kind = call_rename, .path = inner(source), .target = inner(target));
}

int unlink(const char *path) {
    NEXT("unlink", int, const char *);
    NOTING(path, next(path), .kind = call_remove, .path = inner(path));
}

int mkdir(const char *path, mode_t mode) {
    NEXT("mkdir", int, const char *, mode_t);
    NOTING(path, next(path, mode), .kind = call_make_folder, .path = inner(path));
}

int rmdir(const char *path) {
    NEXT("rmdir", int, const char *);
    NOTING(path, next(path), .kind = call_remove_folder, .path = inner(path));
}

// MARK: - Chance

void call_recorder_seed(uint64_t seed) {
    pthread_mutex_lock(&lock);
    random_state = seed;
    pthread_mutex_unlock(&lock);
}

static bool fill_randomly(uint8_t *bytes, size_t count) {
    if (random_state == 0) return false;
    pthread_mutex_lock(&lock);
    for (size_t index = 0; index < count; index++) {
        random_state += 0x9E3779B97F4A7C15;
        uint64_t value = random_state;
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
        bytes[index] = (uint8_t)(value ^ (value >> 31));
    }
    pthread_mutex_unlock(&lock);
    return true;
}

ssize_t getrandom(void *bytes, size_t count, unsigned int flags) {
    NEXT("getrandom", ssize_t, void *, size_t, unsigned int);
    return fill_randomly(bytes, count) ? (ssize_t)count : next(bytes, count, flags);
}

long syscall(long number, ...) {
    NEXT("syscall", long, long, ...);
    va_list arguments;
    va_start(arguments, number);
    long a = va_arg(arguments, long), b = va_arg(arguments, long), c = va_arg(arguments, long);
    long d = va_arg(arguments, long), e = va_arg(arguments, long), f = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_getrandom && fill_randomly((uint8_t *)a, (size_t)b)) return b;
    // A hole is not recorded: who wants one writes zeros then.
    if (number == SYS_fallocate && (b & FALLOC_FL_PUNCH_HOLE) != 0 && handle_of((int)a) != 0) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (number != SYS_renameat2) return next(number, a, b, c, d, e, f);
    const char *source = (const char *)b, *target = (const char *)d;
    NOTING(source, next(number, a, b, c, d, e, f), .kind = call_rename, .path = inner(source),
           .target = inner(target));
}
