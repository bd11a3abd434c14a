// SPDX-License-Identifier: Apache-2.0
// https://www.zlib.net/manual.html
#pragma once

#include <zlib.h>

// A macro with the header's version in it. 15 + 16 is the largest window, in a gzip wrapping only.
static inline int sluice_inflate_init_gzip(z_stream *stream) { return inflateInit2(stream, 15 + 16); }

static inline int sluice_deflate_init_gzip(z_stream *stream) {
    return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}
