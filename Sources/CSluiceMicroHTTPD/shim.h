// SPDX-License-Identifier: Apache-2.0
// libmicrohttpd's variadic calls and unions, typed. https://www.gnu.org/software/libmicrohttpd/manual/libmicrohttpd.html
#pragma once

#include <microhttpd.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

// Paths and query values stay as they were sent: a %00 must not end a C string early.
static inline size_t sluice_mhd_leave_escaped(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

// Without a listening socket: connections come through MHD_add_connection, for which the inter-thread channel is needed.
// Without threads of its own: whoever made it waits for its descriptor and calls MHD_run.
static inline struct MHD_Daemon *sluice_mhd_start(
    unsigned int connections, size_t connection_memory, size_t memory_step, MHD_AccessHandlerCallback handler,
    MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback notify, void *context
) {
    unsigned int flags = MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handler, context,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_NOTIFY_CONNECTION, notify, context,
        MHD_OPTION_UNESCAPE_CALLBACK, &sluice_mhd_leave_escaped, NULL,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory,
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, memory_step,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_END);
}

// What becomes readable when the daemon has something to do.
static inline int sluice_mhd_poll_descriptor(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info == NULL ? -1 : info->epoll_fd;
}

static inline int sluice_mhd_descriptor(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

static inline void *sluice_mhd_socket_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

// The value of the first field of that name in any case, or NULL.
static inline const char *sluice_mhd_header(
    struct MHD_Connection *connection, const char *name, size_t name_length, size_t *length
) {
    const char *value = NULL;
    if (MHD_lookup_connection_value_n(connection, MHD_HEADER_KIND, name, name_length, &value, length) != MHD_YES) {
        return NULL;
    }
    return value;
}

struct sluice_mhd_head {
    int content_lengths;
    int transfer_encodings;
    int hosts;
};

static inline enum MHD_Result sluice_mhd_look(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
    struct sluice_mhd_head *head = (struct sluice_mhd_head *)context;
    (void)kind;
    (void)value;
    switch (name[0] | 0x20) {
    case 'c': head->content_lengths += strcasecmp(name, "content-length") == 0; break;
    case 't': head->transfer_encodings += strcasecmp(name, "transfer-encoding") == 0; break;
    case 'h': head->hosts += strcasecmp(name, "host") == 0; break;
    default: break;
    }
    return MHD_YES;
}

// Counts the fields that decide where a request ends and whom it is for.
static inline struct sluice_mhd_head sluice_mhd_look_at_head(struct MHD_Connection *connection) {
    struct sluice_mhd_head head = {0, 0, 0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, &sluice_mhd_look, &head);
    return head;
}

// Accepts without waiting later on and closed on exec, from the first moment on: accept4(2), which hides behind _GNU_SOURCE.
static inline int sluice_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return (int)syscall(SYS_accept4, listener, address, length, 02000000 | 04000);
}
