// SPDX-License-Identifier: Apache-2.0
// The calls that are taken over: each asks the rules, is made by the C library, and is written down.
#include "internal.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

long (*sluice_real_syscall)(long, ...);

static pthread_once_t once = PTHREAD_ONCE_INIT;
// The root as it was given and without links; length 0: nothing is watched.
static char roots[2][PATH_MAX];
static size_t root_lengths[2];
// Descriptors that were opened below the root; what stands there now is looked up at each call.
#define MAXIMUM_DESCRIPTORS 65536
static unsigned char is_watched[MAXIMUM_DESCRIPTORS];

static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_posix_fallocate)(int, off_t, off_t);
static DIR *(*real_opendir)(const char *);
static ssize_t (*real_sendmsg)(int, const struct msghdr *, int);
static ssize_t (*real_recvmsg)(int, struct msghdr *, int);

static void start(void) {
    sluice_real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    real_fsync = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    real_posix_fallocate = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
    real_opendir = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
    real_sendmsg = (ssize_t (*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
    real_recvmsg = (ssize_t (*)(int, struct msghdr *, int))dlsym(RTLD_NEXT, "recvmsg");
    const char *root = getenv("SLUICE_FAULTS_ROOT");
    sluice_open_log(getenv("SLUICE_FAULTS_LOG"), getenv("SLUICE_FAULTS_RECORD"));
    sluice_read_rules_path(getenv("SLUICE_FAULTS_RULES"));
    if (!root || root[0] != '/') return;
    snprintf(roots[0], PATH_MAX, "%s", root);
    root_lengths[0] = strlen(roots[0]);
    // The folder may be made by the program itself; then its parent is there.
    char parent[PATH_MAX], resolved[PATH_MAX];
    if (realpath(root, resolved)) {
        snprintf(roots[1], PATH_MAX, "%s", resolved);
    } else {
        snprintf(parent, sizeof parent, "%s", root);
        char *slash = strrchr(parent, '/');
        *slash = 0;
        if (!realpath(parent[0] ? parent : "/", resolved)) return;
        if (snprintf(roots[1], PATH_MAX, "%s/%s", resolved, slash + 1) >= PATH_MAX) return;
    }
    root_lengths[1] = strlen(roots[1]);
}

static inline void enter(void) { pthread_once(&once, start); }

__attribute__((constructor)) static void start_early(void) { enter(); }

__attribute__((destructor)) static void note_exit(void) {
    if (!sluice_records_exit()) return;
    struct entry entry = {.operation = "exit", .path = ""};
    sluice_lock_log();
    sluice_append(&entry);
    sluice_unlock_log();
}

// MARK: Paths

// Puts the part of `path` below the root into `out`; false when it is elsewhere.
static bool below_root(const char *path, char *out) {
    for (int i = 0; i < 2; i++) {
        size_t length = root_lengths[i];
        if (!length || strncmp(path, roots[i], length) != 0) continue;
        if (path[length] == 0) {
            strcpy(out, ".");
            return true;
        }
        if (path[length] == '/') {
            snprintf(out, PATH_MAX, "%s", path + length + 1);
            return true;
        }
    }
    return false;
}

// The same for what a descriptor is open on.
static bool descriptor_below_root(int descriptor, char *out) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return false;
    path[length] = 0;
    char *deleted = strstr(path, " (deleted)");
    if (deleted && deleted[10] == 0) *deleted = 0;
    return below_root(path, out);
}

static bool path_below_root(int folder, const char *path, char *out) {
    if (!root_lengths[0] || !path) return false;
    if (path[0] == '/') return below_root(path, out);
    char base[PATH_MAX];
    if (folder == AT_FDCWD) {
        char here[PATH_MAX], whole[2 * PATH_MAX];
        if (!getcwd(here, sizeof here)) return false;
        snprintf(whole, sizeof whole, "%s/%s", here, strncmp(path, "./", 2) == 0 ? path + 2 : path);
        return below_root(whole, out);
    }
    if (!descriptor_below_root(folder, base)) return false;
    if (strcmp(base, ".") == 0) snprintf(out, PATH_MAX, "%s", path);
    else if (snprintf(out, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return false;
    return true;
}

static void prepare(struct operation *operation, unsigned calls) {
    operation->calls = calls;
    operation->path[0] = operation->target[0] = 0;
    operation->failure = 0;
    operation->limit = SIZE_MAX;
    operation->kills_after = operation->is_recorded = false;
}

// Begins an operation on an open file; false when the file is not below the root.
static bool describe(struct operation *operation, unsigned calls, int descriptor) {
    enter();
    if (descriptor < 0 || descriptor >= MAXIMUM_DESCRIPTORS || !is_watched[descriptor]) return false;
    prepare(operation, calls);
    int saved = errno;
    bool found = descriptor_below_root(descriptor, operation->path);
    errno = saved;
    return found;
}

// Begins an operation on a name; false when it is not below the root.
static bool describe_path(struct operation *operation, unsigned calls, int folder, const char *path) {
    enter();
    prepare(operation, calls);
    int saved = errno;
    bool found = path_below_root(folder, path, operation->path);
    errno = saved;
    return found;
}

// MARK: Course of a call

// Asks the rules, then locks the log, so that the operation and its entry are one step.
static void begin(struct operation *operation) {
    sluice_apply_rules(operation);
    if (!sluice_records_changes()) return;
    sluice_lock_log();
    operation->is_recorded = true;
}

static uint64_t inode_of(int descriptor, mode_t *mode) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) return 0;
    if (mode) *mode = status.st_mode;
    return status.st_ino;
}

static uint64_t inode_at(int folder, const char *path) {
    struct stat status;
    return fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_ino : 0;
}

// Writes down and returns what the call returned; `entry->operation` NULL changes nothing and is left out.
static long end(struct operation *operation, struct entry *entry, long result) {
    int saved = errno;
    if (operation->is_recorded) {
        if (entry->operation) {
            entry->result = result < 0 ? -saved : result;
            entry->path = operation->path;
            entry->target = operation->target;
            sluice_append(entry);
        }
        sluice_unlock_log();
    }
    if (operation->kills_after) sluice_kill();
    errno = saved;
    return result;
}

static long fail(struct operation *operation) {
    errno = operation->failure;
    return -1;
}

// MARK: Opening

static int open_at(int folder, const char *path, int flags, mode_t mode) {
    struct operation operation;
    if (!describe_path(&operation, CALL_OPEN, folder, path)) {
        int descriptor = (int)sluice_real_syscall(SYS_openat, folder, path, flags, mode);
        if (descriptor >= 0 && descriptor < MAXIMUM_DESCRIPTORS) is_watched[descriptor] = 0;
        return descriptor;
    }
    int saved = errno;
    bool creates = flags & O_CREAT && inode_at(folder, path) == 0;
    errno = saved;
    if (creates) operation.calls |= CALL_CREATE;
    begin(&operation);
    long descriptor = operation.failure ? fail(&operation)
                                        : sluice_real_syscall(SYS_openat, folder, path, flags, mode);
    struct entry entry = {0};
    if (creates) entry.operation = "create";
    else if (flags & O_TRUNC) entry.operation = "truncate";
    if (descriptor >= 0) {
        if (descriptor < MAXIMUM_DESCRIPTORS) is_watched[descriptor] = 1;
        if (entry.operation) entry.inode = inode_of((int)descriptor, NULL);
    }
    return (int)end(&operation, &entry, descriptor);
}

#define TAKE_MODE(flags)                                  \
    mode_t mode = 0;                                      \
    if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) { \
        va_list list;                                     \
        va_start(list, flags);                            \
        mode = va_arg(list, mode_t);                      \
        va_end(list);                                     \
    }

int open(const char *path, int flags, ...) {
    TAKE_MODE(flags)
    return open_at(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    TAKE_MODE(flags)
    return open_at(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
    TAKE_MODE(flags)
    return open_at(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
    TAKE_MODE(flags)
    return open_at(folder, path, flags, mode);
}

DIR *opendir(const char *path) {
    struct operation operation;
    if (!describe_path(&operation, CALL_OPEN, AT_FDCWD, path)) return real_opendir(path);
    sluice_apply_rules(&operation);
    if (operation.failure) {
        errno = operation.failure;
        return NULL;
    }
    return real_opendir(path);
}

// MARK: Reading and writing

static void note_traffic(const char *name, const struct iovec *parts, int count, size_t length) {
    int saved = errno;
    struct entry entry = {.operation = name, .path = "", .bytes = parts, .byte_parts = count};
    entry.result = entry.length = (int64_t)length;
    sluice_lock_log();
    sluice_append(&entry);
    sluice_unlock_log();
    errno = saved;
}

static bool is_traffic(int descriptor) {
    if (!sluice_records_traffic()) return false;
    struct stat status;
    int saved = errno;
    bool is = fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
    errno = saved;
    return is;
}

static size_t total(const struct iovec *parts, int count) {
    size_t sum = 0;
    for (int i = 0; i < count; i++) sum += parts[i].iov_len;
    return sum;
}

// All forms of writing; `offset` -1 is the current position.
static ssize_t write_parts(int descriptor, const struct iovec *parts, int count, off_t offset) {
    struct operation operation;
    if (!describe(&operation, CALL_WRITE, descriptor)) {
        if (is_traffic(descriptor)) note_traffic("send", parts, count, total(parts, count));
        return offset < 0 ? sluice_real_syscall(SYS_writev, descriptor, parts, count)
                          : sluice_real_syscall(SYS_pwritev, descriptor, parts, count, offset, 0);
    }
    begin(&operation);
    struct iovec cut[64];
    if (operation.limit < total(parts, count)) {
        if (count > 64) count = 64;
        size_t left = operation.limit;
        for (int i = 0; i < count; i++) {
            cut[i] = parts[i];
            if (cut[i].iov_len > left) cut[i].iov_len = left;
            left -= cut[i].iov_len;
        }
        parts = cut;
    }
    long result;
    if (operation.failure) result = fail(&operation);
    else if (offset < 0) result = sluice_real_syscall(SYS_writev, descriptor, parts, count);
    else result = sluice_real_syscall(SYS_pwritev, descriptor, parts, count, offset, 0);
    struct entry entry = {.operation = "write", .bytes = parts, .byte_parts = count};
    if (operation.is_recorded) {
        int saved = errno;
        entry.inode = inode_of(descriptor, NULL);
        entry.length = result > 0 ? result : 0;
        entry.offset = offset >= 0 ? offset : lseek(descriptor, 0, SEEK_CUR) - entry.length;
        errno = saved;
    }
    return end(&operation, &entry, result);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    struct iovec part = {(void *)bytes, count};
    return write_parts(descriptor, &part, 1, -1);
}
ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    return write_parts(descriptor, parts, count, -1);
}
ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    struct iovec part = {(void *)bytes, count};
    return write_parts(descriptor, &part, 1, offset);
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    struct iovec part = {(void *)bytes, count};
    return write_parts(descriptor, &part, 1, offset);
}

static ssize_t read_part(int descriptor, void *bytes, size_t count, off_t offset) {
    struct operation operation;
    bool is_ours = describe(&operation, CALL_READ, descriptor);
    if (is_ours) {
        sluice_apply_rules(&operation);
        if (operation.failure) return fail(&operation);
        if (operation.limit < count) count = operation.limit;
    }
    ssize_t result = offset < 0 ? sluice_real_syscall(SYS_read, descriptor, bytes, count)
                                : sluice_real_syscall(SYS_pread64, descriptor, bytes, count, offset);
    if (!is_ours && result > 0 && is_traffic(descriptor)) {
        struct iovec part = {bytes, (size_t)result};
        note_traffic("receive", &part, 1, (size_t)result);
    }
    return result;
}

ssize_t read(int descriptor, void *bytes, size_t count) { return read_part(descriptor, bytes, count, -1); }
ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    return read_part(descriptor, bytes, count, offset);
}
ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) {
    return read_part(descriptor, bytes, count, offset);
}

// MARK: Sockets

ssize_t sendto(
    int descriptor, const void *bytes, size_t count, int flags, const struct sockaddr *address, socklen_t length
) {
    enter();
    if (sluice_records_traffic()) {
        struct iovec part = {(void *)bytes, count};
        note_traffic("send", &part, 1, count);
    }
    return sluice_real_syscall(SYS_sendto, descriptor, bytes, count, flags, address, length);
}
ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
    return sendto(descriptor, bytes, count, flags, NULL, 0);
}
ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    enter();
    if (sluice_records_traffic()) {
        note_traffic(
            "send", message->msg_iov, (int)message->msg_iovlen, total(message->msg_iov, (int)message->msg_iovlen));
    }
    return real_sendmsg(descriptor, message, flags);
}
ssize_t recvfrom(
    int descriptor, void *bytes, size_t count, int flags, struct sockaddr *address, socklen_t *length
) {
    enter();
    ssize_t result = sluice_real_syscall(SYS_recvfrom, descriptor, bytes, count, flags, address, length);
    if (result > 0 && sluice_records_traffic()) {
        struct iovec part = {bytes, (size_t)result};
        note_traffic("receive", &part, 1, (size_t)result);
    }
    return result;
}
ssize_t recv(int descriptor, void *bytes, size_t count, int flags) {
    return recvfrom(descriptor, bytes, count, flags, NULL, NULL);
}
ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
    enter();
    ssize_t result = real_recvmsg(descriptor, message, flags);
    if (result > 0 && sluice_records_traffic())
        note_traffic("receive", message->msg_iov, (int)message->msg_iovlen, (size_t)result);
    return result;
}

// MARK: Copies of descriptors

static int noting_copy(int source, int copy) {
    if (copy >= 0 && copy < MAXIMUM_DESCRIPTORS && source >= 0 && source < MAXIMUM_DESCRIPTORS)
        is_watched[copy] = is_watched[source];
    return copy;
}

int dup(int descriptor) {
    enter();
    return noting_copy(descriptor, (int)sluice_real_syscall(SYS_dup, descriptor));
}
int dup3(int descriptor, int copy, int flags) {
    enter();
    return noting_copy(descriptor, (int)sluice_real_syscall(SYS_dup3, descriptor, copy, flags));
}
int dup2(int descriptor, int copy) {
    enter();
    if (descriptor == copy) return (int)sluice_real_syscall(SYS_fcntl, descriptor, F_GETFD) < 0 ? -1 : copy;
    return dup3(descriptor, copy, 0);
}
int fcntl(int descriptor, int command, ...) {
    enter();
    va_list list;
    va_start(list, command);
    long argument = va_arg(list, long);
    va_end(list);
    int result = (int)sluice_real_syscall(SYS_fcntl, descriptor, command, argument);
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? noting_copy(descriptor, result) : result;
}
int fcntl64(int descriptor, int command, ...) {
    va_list list;
    va_start(list, command);
    long argument = va_arg(list, long);
    va_end(list);
    return fcntl(descriptor, command, argument);
}

// MARK: Durability

static int sync_descriptor(int descriptor, unsigned call, const char *name, int (*real)(int)) {
    struct operation operation;
    if (!describe(&operation, call, descriptor)) return real(descriptor);
    begin(&operation);
    long result = operation.failure ? fail(&operation) : real(descriptor);
    struct entry entry = {.operation = name};
    if (operation.is_recorded) {
        int saved = errno;
        mode_t mode = 0;
        entry.inode = inode_of(descriptor, &mode);
        if (S_ISDIR(mode)) entry.operation = "syncfolder";
        errno = saved;
    }
    return (int)end(&operation, &entry, result);
}

int fsync(int descriptor) { return enter(), sync_descriptor(descriptor, CALL_FSYNC, "fsync", real_fsync); }
int fdatasync(int descriptor) {
    return enter(), sync_descriptor(descriptor, CALL_FDATASYNC, "fdatasync", real_fdatasync);
}

// MARK: Length and room

static int truncate_descriptor(int descriptor, off_t length) {
    struct operation operation;
    if (!describe(&operation, CALL_TRUNCATE, descriptor))
        return (int)sluice_real_syscall(SYS_ftruncate, descriptor, length);
    begin(&operation);
    long result = operation.failure ? fail(&operation) : sluice_real_syscall(SYS_ftruncate, descriptor, length);
    struct entry entry = {.operation = "truncate", .offset = length};
    if (operation.is_recorded) entry.inode = inode_of(descriptor, NULL);
    return (int)end(&operation, &entry, result);
}

int ftruncate(int descriptor, off_t length) { return truncate_descriptor(descriptor, length); }
int ftruncate64(int descriptor, off64_t length) { return truncate_descriptor(descriptor, length); }

#define KEEP_SIZE 1

static int reserve(int descriptor, int mode, off_t offset, off_t length, bool is_posix) {
    struct operation operation;
    bool is_ours = describe(&operation, CALL_RESERVE, descriptor);
    if (is_ours) begin(&operation);
    long result;
    if (is_ours && operation.failure) {
        result = fail(&operation);
    } else if (is_posix) {
        int code = real_posix_fallocate(descriptor, offset, length);
        result = code ? -1 : 0;
        errno = code ? code : errno;
    } else {
        result = sluice_real_syscall(SYS_fallocate, descriptor, mode, offset, length);
    }
    if (!is_ours) return (int)result;
    struct entry entry = {.operation = mode & KEEP_SIZE ? "reserve" : "extend", .offset = offset, .length = length};
    if (operation.is_recorded) {
        int saved = errno;
        entry.inode = inode_of(descriptor, NULL);
        errno = saved;
    }
    return (int)end(&operation, &entry, result);
}

int posix_fallocate(int descriptor, off_t offset, off_t length) {
    int saved = errno;
    int code = reserve(descriptor, 0, offset, length, true) == 0 ? 0 : errno;
    errno = saved;
    return code;
}
int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
    return posix_fallocate(descriptor, offset, length);
}
int fallocate(int descriptor, int mode, off_t offset, off_t length) {
    return reserve(descriptor, mode, offset, length, false);
}
int fallocate64(int descriptor, int mode, off64_t offset, off64_t length) {
    return reserve(descriptor, mode, offset, length, false);
}

// MARK: Names

static int rename_at(int folder, const char *source, int other, const char *target, unsigned flags) {
    struct operation operation;
    if (!describe_path(&operation, CALL_RENAME, folder, source)
        || !path_below_root(other, target, operation.target))
        return (int)sluice_real_syscall(SYS_renameat2, folder, source, other, target, flags);
    begin(&operation);
    struct entry entry = {.operation = "rename"};
    if (operation.is_recorded) entry.inode = inode_at(folder, source);
    long result = operation.failure ? fail(&operation)
                                    : sluice_real_syscall(SYS_renameat2, folder, source, other, target, flags);
    return (int)end(&operation, &entry, result);
}

int rename(const char *source, const char *target) { return rename_at(AT_FDCWD, source, AT_FDCWD, target, 0); }
int renameat(int folder, const char *source, int other, const char *target) {
    return rename_at(folder, source, other, target, 0);
}
int renameat2(int folder, const char *source, int other, const char *target, unsigned flags) {
    return rename_at(folder, source, other, target, flags);
}

int linkat(int folder, const char *source, int other, const char *target, int flags) {
    struct operation operation;
    if (!describe_path(&operation, CALL_LINK, folder, source) || !path_below_root(other, target, operation.target))
        return (int)sluice_real_syscall(SYS_linkat, folder, source, other, target, flags);
    begin(&operation);
    struct entry entry = {.operation = "link"};
    if (operation.is_recorded) entry.inode = inode_at(folder, source);
    long result = operation.failure ? fail(&operation)
                                    : sluice_real_syscall(SYS_linkat, folder, source, other, target, flags);
    return (int)end(&operation, &entry, result);
}
int link(const char *source, const char *target) { return linkat(AT_FDCWD, source, AT_FDCWD, target, 0); }

int unlinkat(int folder, const char *path, int flags) {
    struct operation operation;
    bool is_folder = flags & AT_REMOVEDIR;
    if (!describe_path(&operation, is_folder ? CALL_RMDIR : CALL_UNLINK, folder, path))
        return (int)sluice_real_syscall(SYS_unlinkat, folder, path, flags);
    begin(&operation);
    struct entry entry = {.operation = is_folder ? "rmdir" : "unlink"};
    if (operation.is_recorded) entry.inode = inode_at(folder, path);
    long result = operation.failure ? fail(&operation) : sluice_real_syscall(SYS_unlinkat, folder, path, flags);
    return (int)end(&operation, &entry, result);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int folder, const char *path, mode_t mode) {
    struct operation operation;
    if (!describe_path(&operation, CALL_MKDIR, folder, path))
        return (int)sluice_real_syscall(SYS_mkdirat, folder, path, mode);
    begin(&operation);
    long result = operation.failure ? fail(&operation) : sluice_real_syscall(SYS_mkdirat, folder, path, mode);
    struct entry entry = {.operation = "mkdir"};
    if (operation.is_recorded && result == 0) entry.inode = inode_at(folder, path);
    return (int)end(&operation, &entry, result);
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

// MARK: Locks

int flock(int descriptor, int kind) {
    struct operation operation;
    if (!describe(&operation, CALL_LOCK, descriptor)) return (int)sluice_real_syscall(SYS_flock, descriptor, kind);
    sluice_apply_rules(&operation);
    // A call that waits must not hold the log: it is written down afterwards, or before when it lets go.
    bool records = sluice_records_changes();
    struct entry entry = {.operation = kind & LOCK_UN ? "unlock" : "lock", .path = operation.path};
    entry.length = kind & LOCK_SH ? 1 : 0;
    int saved = errno;
    if (records) entry.inode = inode_of(descriptor, NULL);
    errno = saved;
    if (records && kind & LOCK_UN && !operation.failure) {
        sluice_lock_log();
        sluice_append(&entry);
        sluice_unlock_log();
        records = false;
    }
    long result = operation.failure ? fail(&operation) : sluice_real_syscall(SYS_flock, descriptor, kind);
    saved = errno;
    if (records) {
        entry.result = result < 0 ? -saved : result;
        sluice_lock_log();
        sluice_append(&entry);
        sluice_unlock_log();
    }
    if (operation.kills_after) sluice_kill();
    errno = saved;
    return (int)result;
}

// MARK: Raw calls

// What the package calls by number, since the C library's wrapper may be missing or do more.
long syscall(long number, ...) {
    enter();
    va_list list;
    va_start(list, number);
    long a[6];
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    switch (number) {
    case SYS_renameat2:
        return rename_at((int)a[0], (const char *)a[1], (int)a[2], (const char *)a[3], (unsigned)a[4]);
    case SYS_fallocate: return reserve((int)a[0], (int)a[1], a[2], a[3], false);
    default: return sluice_real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
}
