// SPDX-License-Identifier: Apache-2.0
// The log: an entry for each operation, in the order in which they happened.
#include "internal.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int descriptor = -1;
static bool records_changes, records_traffic, records_exit;

void sluice_open_log(const char *path, const char *record) {
    if (!path) return;
    int low = (int)sluice_real_syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (low < 0) {
        fprintf(stderr, "libSluiceFaults: no log at %s\n", path);
        _exit(70);
    }
    // Out of the way: a program's own descriptors keep their numbers.
    int high = (int)sluice_real_syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 700);
    if (high >= 0) sluice_real_syscall(SYS_close, low);
    descriptor = high >= 0 ? high : low;
    records_changes = record && strstr(record, "changes");
    records_traffic = record && strstr(record, "traffic");
    records_exit = record && strstr(record, "exit");
}

bool sluice_records_changes(void) { return records_changes; }
bool sluice_records_traffic(void) { return records_traffic; }
bool sluice_records_exit(void) { return records_exit; }

void sluice_lock_log(void) {
    pthread_mutex_lock(&mutex);
    while (sluice_real_syscall(SYS_flock, descriptor, LOCK_EX) != 0 && errno == EINTR) {}
}

void sluice_unlock_log(void) {
    sluice_real_syscall(SYS_flock, descriptor, LOCK_UN);
    pthread_mutex_unlock(&mutex);
}

static char *escape(char *out, const char *text) {
    if (!*text) *out++ = '-';
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte <= 0x20 || byte == '%' || byte == '>' || byte == 0x7F) out += sprintf(out, "%%%02X", byte);
        else *out++ = (char)byte;
    }
    return out;
}

void sluice_append(const struct entry *entry) {
    char line[6 * PATH_MAX + 256];
    char *end = line + sprintf(
        line, "%s %d %llu %lld %lld %lld ", entry->operation, getpid(), (unsigned long long)entry->inode,
        (long long)entry->result, (long long)entry->offset, (long long)entry->length);
    end = escape(end, entry->path);
    *end++ = ' ';
    end = escape(end, entry->target ? entry->target : "");
    *end++ = '\n';
    struct iovec parts[66] = {{line, (size_t)(end - line)}};
    int count = 1;
    if (entry->bytes) {
        size_t left = (size_t)entry->length;
        for (int i = 0; i < entry->byte_parts && left && count < 65; i++) {
            parts[count] = entry->bytes[i];
            if (parts[count].iov_len > left) parts[count].iov_len = left;
            left -= parts[count++].iov_len;
        }
        parts[count].iov_base = "\n";
        parts[count++].iov_len = 1;
    }
    sluice_real_syscall(SYS_writev, descriptor, parts, count);
}

void sluice_note_fault(const struct operation *operation, const char *call, const char *action) {
    if (descriptor < 0) return;
    char what[256];
    snprintf(what, sizeof what, "%s:%s", call, action);
    char text[2 * PATH_MAX + 1];
    snprintf(text, sizeof text, operation->target[0] ? "%s>%s" : "%s", operation->path, operation->target);
    struct entry entry = {.operation = "fault", .path = text, .target = what};
    sluice_lock_log();
    sluice_append(&entry);
    sluice_unlock_log();
}
