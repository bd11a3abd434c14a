// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CSluiceFloor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { longest_head = 4096 };

struct peer {
    int descriptor;
    size_t head_length;  // of a head that is not complete
    size_t body_left;
    char head[longest_head + 1];
};

static int listener;
static char input[256 << 10];

static void drop(struct peer *peer) {
    close(peer->descriptor);
    free(peer);
}

static int answer(struct peer *peer) {
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"status\":\"ok\"}";
    return send(peer->descriptor, text, sizeof text - 1, MSG_NOSIGNAL) == sizeof text - 1;
}

// Takes `count` bytes that came. Returns 0 when the connection is to be closed.
static int take(struct peer *peer, const char *bytes, size_t count) {
    while (count > 0) {
        if (peer->body_left > 0) {
            size_t part = count < peer->body_left ? count : peer->body_left;
            peer->body_left -= part;
            bytes += part;
            count -= part;
            if (peer->body_left == 0 && !answer(peer)) return 0;
            continue;
        }
        size_t before = peer->head_length;
        size_t part = count < longest_head - before ? count : longest_head - before;
        if (part == 0) return 0;
        memcpy(peer->head + before, bytes, part);
        peer->head[before + part] = 0;
        char *end = strstr(peer->head, "\r\n\r\n");
        if (end == NULL) {
            peer->head_length = before + part;
            bytes += part;
            count -= part;
            continue;
        }
        size_t used = (size_t)(end + 4 - peer->head) - before;
        *end = 0;
        const char *field = strcasestr(peer->head, "\r\nContent-Length:");
        peer->body_left = field == NULL ? 0 : strtoul(field + 17, NULL, 10);
        peer->head_length = 0;
        bytes += used;
        count -= used;
        if (peer->body_left == 0 && !answer(peer)) return 0;
    }
    return 1;
}

static void admit(int poll) {
    struct peer *peer = calloc(1, sizeof *peer);
    int one = 1;
    if (peer == NULL) return;
    peer->descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (peer->descriptor < 0) {
        free(peer);
        return;
    }
    setsockopt(peer->descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
    epoll_ctl(poll, EPOLL_CTL_ADD, peer->descriptor, &event);
}

static void *serve(void *context) {
    (void)context;
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        struct epoll_event events[64];
        int ready = epoll_wait(poll, events, 64, -1);
        for (int index = 0; index < ready; index++) {
            struct peer *peer = events[index].data.ptr;
            if (peer == NULL) {
                admit(poll);
                continue;
            }
            ssize_t count = recv(peer->descriptor, input, sizeof input, 0);
            if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
            if (count <= 0 || !take(peer, input, (size_t)count)) drop(peer);
        }
    }
    return NULL;
}

int sluice_floor_sink(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1024) != 0) return -1;
    if (getsockname(listener, (struct sockaddr *)&address, &length) != 0) return -1;
    pthread_t thread;
    errno = pthread_create(&thread, NULL, &serve, NULL);
    return errno == 0 ? ntohs(address.sin_port) : -1;
}
