// SPDX-License-Identifier: Apache-2.0
// Mapped files whose pages may go away. At the next access to a page that is gone, because somebody cut the file or the
// disk fails, the kernel raises SIGBUS, which ends a process that does nothing about it. Here the whole mapping becomes
// private memory full of zeros, the access goes on, and the owner is told.
#define _GNU_SOURCE
#include "shim.h"

#include <signal.h>
#include <sys/mman.h>

struct mapping {
    uintptr_t start; // 0: free
    uintptr_t end;
    int is_lost;
};

static struct mapping mappings[64];
enum { mapping_count = sizeof mappings / sizeof mappings[0] };
static struct sigaction action_before;
static int is_installed;

// Makes a system call of its own and touches nothing but atomic words, as a signal handler may.
static void on_bus_error(int number, siginfo_t *info, void *context) {
    (void)context;
    int code = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    // A positive code comes from the kernel; kill(2) and its like bring no address.
    for (int index = 0; info->si_code > 0 && index < mapping_count; index++) {
        uintptr_t start = __atomic_load_n(&mappings[index].start, __ATOMIC_ACQUIRE);
        uintptr_t end = __atomic_load_n(&mappings[index].end, __ATOMIC_ACQUIRE);
        if (start == 0 || address < start || address >= end) continue;
        void *memory = mmap((void *)start, end - start, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) break;
        __atomic_store_n(&mappings[index].is_lost, 1, __ATOMIC_RELEASE);
        errno = code;
        return;
    }
    // Not ours: what was to happen before happens when the access, or the signal, comes again.
    sigaction(number, &action_before, NULL);
    if (info->si_code <= 0) raise(number);
    errno = code;
}

static void install_once(void) {
    int none = 0;
    if (!__atomic_compare_exchange_n(&is_installed, &none, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &action_before);
}

int sluice_watch_mapping(void *memory, size_t length) {
    install_once();
    for (int index = 0; index < mapping_count; index++) {
        uintptr_t none = 0;
        if (!__atomic_compare_exchange_n(&mappings[index].start, &none, (uintptr_t)memory, 0, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE))
            continue;
        __atomic_store_n(&mappings[index].is_lost, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&mappings[index].end, (uintptr_t)memory + length, __ATOMIC_RELEASE);
        return index;
    }
    return -1;
}

int sluice_mapping_is_lost(int number) { return __atomic_load_n(&mappings[number].is_lost, __ATOMIC_ACQUIRE); }

void sluice_forget_mapping(int number) {
    __atomic_store_n(&mappings[number].end, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&mappings[number].start, 0, __ATOMIC_RELEASE);
}
