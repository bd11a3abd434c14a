// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CSluiceFloor.h"

#include <CSluiceJSON.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <lz4frame.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { worker_count = 2, padding = 64, longest_body = 1 << 20 };

struct request {
    struct MHD_Connection *connection;
    struct worker *worker;
    char *body;
    size_t count, capacity;
    int is_durable;
    struct request *next;  // of the same group, or of the idle ones
};

struct worker {
    struct MHD_Daemon *daemon;
    int poll_descriptor, waker;
    sluice_json_parser *parser;
    struct request *idle;
    volatile size_t seen;  // what the walks came to, so that they are not left out
};

struct group {
    char *bytes;
    size_t count, capacity;
    struct request *requests;
};

static struct worker workers[worker_count];
static struct group gathering;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static struct MHD_Response *accepted;
static int file;

static void append(char **bytes, size_t *count, size_t *capacity, const char *more, size_t length) {
    if (*count + length + padding > *capacity) {
        *capacity = (*count + length + padding) * 2;
        *bytes = realloc(*bytes, *capacity);
        if (*bytes == NULL) abort();
    }
    memcpy(*bytes + *count, more, length);
    *count += length;
}

// Looks at every field, as a validation would have to.
static int walk(struct worker *worker, const struct request *request) {
    sluice_json_document document;
    if (sluice_json_parse(worker->parser, (const uint8_t *)request->body, request->count, &document) != SLUICE_JSON_OK) return 0;
    size_t sum = 0;
    for (size_t index = 0; index < document.count; index++) {
        const sluice_json_token *token = &document.tokens[index];
        sum += token->length;
        if (token->kind == SLUICE_JSON_STRING) sum += document.texts[token->text];
    }
    worker->seen += sum;
    return 1;
}

static void wait_for_commit(struct request *request) {
    MHD_suspend_connection(request->connection);
    pthread_mutex_lock(&lock);
    if (gathering.requests == NULL) pthread_cond_signal(&work);
    append(&gathering.bytes, &gathering.count, &gathering.capacity, request->body, request->count);
    append(&gathering.bytes, &gathering.count, &gathering.capacity, "\n", 1);
    request->next = gathering.requests;
    gathering.requests = request;
    pthread_mutex_unlock(&lock);
}

static enum MHD_Result handle(
    void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
    const char *piece, size_t *piece_length, void **state
) {
    (void)url, (void)method, (void)version;
    struct worker *worker = context;
    struct request *request = *state;
    if (request == NULL) {
        request = worker->idle;
        if (request == NULL) {
            request = calloc(1, sizeof *request);
            if (request == NULL) return MHD_NO;
        } else {
            worker->idle = request->next;
        }
        request->connection = connection;
        request->worker = worker;
        request->count = 0;
        request->is_durable = 0;
        *state = request;
        return MHD_YES;
    }
    if (*piece_length > 0) {
        append(&request->body, &request->count, &request->capacity, piece, *piece_length);
        *piece_length = 0;
        return MHD_YES;
    }
    if (request->is_durable) return MHD_queue_response(connection, 200, accepted);
    if (!walk(worker, request)) return MHD_NO;
    wait_for_commit(request);
    return MHD_YES;
}

static void ended(void *context, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code) {
    (void)connection, (void)code;
    struct worker *worker = context;
    struct request *request = *state;
    if (request == NULL) return;
    request->next = worker->idle;
    worker->idle = request;
    *state = NULL;
}

// The thread is ours because libmicrohttpd's own may sleep on sockets that are ready: see SluiceServer's ServerWorker.
static void *serve(void *context) {
    struct worker *worker = context;
    struct pollfd targets[2] = {{worker->poll_descriptor, POLLIN, 0}, {worker->waker, POLLIN, 0}};
    for (;;) {
        MHD_UNSIGNED_LONG_LONG limit = 0;
        int wait = MHD_get_timeout(worker->daemon, &limit) == MHD_YES ? (int)(limit < 1000 ? limit : 1000) : 1000;
        poll(targets, 2, wait);
        uint64_t count;
        if (targets[1].revents != 0 && read(worker->waker, &count, sizeof count) < 0) continue;
        MHD_run(worker->daemon);
    }
    return NULL;
}

static void write_frame(const struct group *group) {
    static LZ4F_preferences_t preferences;
    static char *frame;
    static size_t capacity;
    preferences.frameInfo.blockMode = LZ4F_blockIndependent;
    preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    size_t bound = LZ4F_compressFrameBound(group->count, &preferences);
    if (bound > capacity) {
        free(frame);
        frame = malloc(bound);
        capacity = bound;
    }
    size_t length = LZ4F_compressFrame(frame, capacity, group->bytes, group->count, &preferences);
    if (LZ4F_isError(length)) abort();
    for (size_t done = 0; done < length;) {
        ssize_t written = write(file, frame + done, length - done);
        if (written < 0) abort();
        done += (size_t)written;
    }
    if (fdatasync(file) != 0) abort();
}

static void *commit(void *context) {
    (void)context;
    struct group group = {0};
    for (;;) {
        pthread_mutex_lock(&lock);
        while (gathering.requests == NULL) pthread_cond_wait(&work, &lock);
        struct group full = gathering;
        group.count = 0;
        group.requests = NULL;
        gathering = group;
        pthread_mutex_unlock(&lock);
        group = full;
        write_frame(&group);
        int wakes[worker_count] = {0};
        for (struct request *request = group.requests, *next; request != NULL; request = next) {
            next = request->next;
            wakes[request->worker - workers] = 1;
            request->is_durable = 1;
            MHD_resume_connection(request->connection);
        }
        for (int index = 0; index < worker_count; index++) {
            if (wakes[index]) eventfd_write(workers[index].waker, 1);
        }
    }
    return NULL;
}

// Both workers listen on one port, and the kernel shares connections out among them.
static int start(struct worker *worker, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    worker->waker = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    worker->parser = sluice_json_parser_create(longest_body, 64);
    worker->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME, (uint16_t)port, NULL, NULL, &handle, worker,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U,
        MHD_OPTION_NOTIFY_COMPLETED, &ended, worker, MHD_OPTION_CONNECTION_LIMIT, 20000U,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384, MHD_OPTION_END);
    if (worker->daemon == NULL || worker->waker < 0 || worker->parser == NULL) return -1;
    worker->poll_descriptor = MHD_get_daemon_info(worker->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return MHD_get_daemon_info(worker->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

int sluice_floor_endpoint(const char *path) {
    static const char text[] = "{\"accepted\":[],\"rejected\":[]}";
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    accepted = MHD_create_response_from_buffer(sizeof text - 1, (void *)text, MHD_RESPMEM_PERSISTENT);
    int port = 0;
    for (int index = 0; index < worker_count; index++) {
        port = start(&workers[index], port);
        if (port < 0) return -1;
    }
    pthread_t thread;
    int code = pthread_create(&thread, NULL, &commit, NULL);
    for (int index = 0; code == 0 && index < worker_count; index++) {
        code = pthread_create(&thread, NULL, &serve, &workers[index]);
    }
    errno = code;
    return code == 0 ? port : -1;
}
