// SPDX-License-Identifier: Apache-2.0
// What the machine could do at best: the least that an endpoint and a destination can be, to measure the real ones against.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Starts the bare accepting path on 127.0.0.1: libmicrohttpd with two threads and suspended connections, simdjson over
/// every field, one shared buffer, an LZ4 frame and fdatasync for each group, then the answers. Nothing is validated.
/// Frames are appended to the file at `path`. Returns the port, or -1 with errno; it serves until the process ends.
int sluice_floor_endpoint(const char *path);

/// Starts a plain HTTP sink on 127.0.0.1: one thread that reads bodies of a known length and answers 200. Returns the
/// port, or -1 with errno; it serves until the process ends.
int sluice_floor_sink(void);

#ifdef __cplusplus
}
#endif
