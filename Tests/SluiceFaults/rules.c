// SPDX-License-Identifier: Apache-2.0
// The rules: which call on which path fails, waits or ends the process.
#include "internal.h"

#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum action { ACTION_FAIL, ACTION_SHORT, ACTION_DELAY, ACTION_KILL, ACTION_KILL_AFTER, ACTION_TORN, ACTION_STOP };

struct rule {
    unsigned calls;
    char call_text[64];
    char pattern[512];
    long first, last;
    enum action action;
    char action_text[64];
    long value;
    long count;
};

#define MAXIMUM_RULES 64

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char rules_path[PATH_MAX];
static struct stat rules_status;
static struct rule rules[MAXIMUM_RULES];
static int rule_count;

void sluice_read_rules_path(const char *path) {
    if (path) snprintf(rules_path, sizeof rules_path, "%s", path);
}

static const struct { const char *name; unsigned calls; } call_names[] = {
    {"open", CALL_OPEN}, {"create", CALL_CREATE}, {"read", CALL_READ}, {"write", CALL_WRITE},
    {"fsync", CALL_FSYNC}, {"fdatasync", CALL_FDATASYNC}, {"sync", CALL_FSYNC | CALL_FDATASYNC},
    {"rename", CALL_RENAME}, {"unlink", CALL_UNLINK}, {"rmdir", CALL_RMDIR}, {"mkdir", CALL_MKDIR},
    {"link", CALL_LINK}, {"truncate", CALL_TRUNCATE}, {"reserve", CALL_RESERVE}, {"lock", CALL_LOCK},
    {"change", CALL_CREATE | CALL_WRITE | CALL_FSYNC | CALL_FDATASYNC | CALL_RENAME | CALL_UNLINK | CALL_RMDIR
                   | CALL_MKDIR | CALL_LINK | CALL_TRUNCATE | CALL_RESERVE},
};

static const struct { const char *name; int number; } error_names[] = {
    {"EPERM", EPERM}, {"ENOENT", ENOENT}, {"EINTR", EINTR}, {"EIO", EIO}, {"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM},
    {"EACCES", EACCES}, {"EBUSY", EBUSY}, {"EEXIST", EEXIST}, {"EXDEV", EXDEV}, {"ENODEV", ENODEV},
    {"ENOTDIR", ENOTDIR}, {"EISDIR", EISDIR}, {"EINVAL", EINVAL}, {"ENFILE", ENFILE}, {"EMFILE", EMFILE},
    {"EFBIG", EFBIG}, {"ENOSPC", ENOSPC}, {"EROFS", EROFS}, {"EMLINK", EMLINK}, {"ENOTEMPTY", ENOTEMPTY},
    {"ELOOP", ELOOP}, {"EDQUOT", EDQUOT}, {"ESTALE", ESTALE}, {"EOPNOTSUPP", EOPNOTSUPP}, {"ENOLCK", ENOLCK},
};

_Noreturn static void refuse(const char *line, const char *reason) {
    fprintf(stderr, "libSluiceFaults: %s: %s\n", reason, line);
    _exit(70);   // EX_SOFTWARE: a test that injects nothing would prove nothing
}

static unsigned calls_of(const char *text, const char *line) {
    char copy[64];
    snprintf(copy, sizeof copy, "%s", text);
    unsigned calls = 0;
    char *rest = NULL;
    for (char *name = strtok_r(copy, "|", &rest); name; name = strtok_r(NULL, "|", &rest)) {
        unsigned found = 0;
        for (size_t i = 0; i < sizeof call_names / sizeof *call_names; i++)
            if (strcmp(name, call_names[i].name) == 0) found = call_names[i].calls;
        if (!found) refuse(line, "no such call");
        calls |= found;
    }
    return calls;
}

static long error_of(const char *text, const char *line) {
    for (size_t i = 0; i < sizeof error_names / sizeof *error_names; i++)
        if (strcmp(text, error_names[i].name) == 0) return error_names[i].number;
    long number = strtol(text, NULL, 10);
    if (number <= 0) refuse(line, "no such error");
    return number;
}

static void parse_action(struct rule *rule, const char *line) {
    static const struct { const char *name; enum action action; } names[] = {
        {"fail=", ACTION_FAIL}, {"short=", ACTION_SHORT}, {"delay=", ACTION_DELAY}, {"torn=", ACTION_TORN},
    };
    const char *text = rule->action_text;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i].name);
        if (strncmp(text, names[i].name, length) != 0) continue;
        rule->action = names[i].action;
        rule->value = rule->action == ACTION_FAIL ? error_of(text + length, line) : strtol(text + length, NULL, 10);
        return;
    }
    if (strcmp(text, "kill") == 0) rule->action = ACTION_KILL;
    else if (strcmp(text, "kill-after") == 0) rule->action = ACTION_KILL_AFTER;
    else if (strcmp(text, "stop") == 0) rule->action = ACTION_STOP;
    else refuse(line, "no such action");
}

static void parse(char *line) {
    if (*line == 0 || *line == '#') return;
    if (rule_count == MAXIMUM_RULES) refuse(line, "too many rules");
    struct rule *rule = &rules[rule_count];
    memset(rule, 0, sizeof *rule);
    char when[32];
    if (sscanf(line, "%63s %511s %31s %63s", rule->call_text, rule->pattern, when, rule->action_text) != 4)
        refuse(line, "CALL PATH WHEN ACTION is expected");
    rule->calls = calls_of(rule->call_text, line);
    parse_action(rule, line);
    if (strcmp(when, "*") == 0) {
        rule->first = 1;
        rule->last = LONG_MAX;
    } else {
        char *end = NULL;
        rule->first = strtol(when, &end, 10);
        rule->last = *end != '-' ? rule->first : end[1] ? strtol(end + 1, NULL, 10) : LONG_MAX;
        if (rule->first < 1) refuse(line, "no such occurrence");
    }
    rule_count++;
}

static void read_again(void) {
    struct stat status;
    if (stat(rules_path, &status) != 0) memset(&status, 0, sizeof status);
    bool same = status.st_ino == rules_status.st_ino && status.st_size == rules_status.st_size
        && status.st_mtim.tv_sec == rules_status.st_mtim.tv_sec
        && status.st_mtim.tv_nsec == rules_status.st_mtim.tv_nsec;
    if (same) return;
    rules_status = status;
    rule_count = 0;
    int descriptor = (int)sluice_real_syscall(SYS_openat, -100, rules_path, 02000000 /* O_CLOEXEC */, 0);
    if (descriptor < 0) return;
    static char text[64 << 10];
    long length = 0, got;
    while ((got = sluice_real_syscall(SYS_read, descriptor, text + length, sizeof text - 1 - length)) > 0) length += got;
    sluice_real_syscall(SYS_close, descriptor);
    text[length] = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) parse(line);
}

_Noreturn void sluice_kill(void) {
    for (;;) {
        sluice_real_syscall(SYS_kill, getpid(), SIGKILL);
        pause();
    }
}

static void sleep_for(long milliseconds) {
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

void sluice_apply_rules(struct operation *operation) {
    operation->limit = SIZE_MAX;
    if (!rules_path[0]) return;
    char text[2 * PATH_MAX + 1];
    snprintf(text, sizeof text, operation->target[0] ? "%s>%s" : "%s", operation->path, operation->target);
    long delay = 0;
    struct rule acting = {0};
    bool acts = false;
    pthread_mutex_lock(&mutex);
    read_again();
    for (int i = 0; i < rule_count; i++) {
        struct rule *rule = &rules[i];
        if (!(rule->calls & operation->calls) || fnmatch(rule->pattern, text, 0) != 0) continue;
        rule->count++;
        if (rule->count < rule->first || rule->count > rule->last) continue;
        if (rule->action == ACTION_DELAY) {
            delay += rule->value;
            sluice_note_fault(operation, rule->call_text, rule->action_text);
        } else if (!acts) {
            acting = *rule;
            acts = true;
        }
    }
    pthread_mutex_unlock(&mutex);
    if (delay) sleep_for(delay);
    if (!acts) return;
    sluice_note_fault(operation, acting.call_text, acting.action_text);
    switch (acting.action) {
    case ACTION_FAIL: operation->failure = (int)acting.value; break;
    case ACTION_SHORT: operation->limit = (size_t)acting.value; break;
    case ACTION_TORN:
        operation->limit = (size_t)acting.value;
        operation->kills_after = true;
        break;
    case ACTION_KILL: sluice_kill();
    case ACTION_KILL_AFTER: operation->kills_after = true; break;
    case ACTION_STOP: sluice_real_syscall(SYS_kill, getpid(), SIGSTOP); break;
    case ACTION_DELAY: break;
    }
}
