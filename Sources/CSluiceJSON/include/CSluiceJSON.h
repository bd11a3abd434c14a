// SPDX-License-Identifier: Apache-2.0
// simdjson behind a C face: a parser that turns a document into a flat array of tokens, and JSON string escaping.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_json_parser sluice_json_parser;

/// One value or key; SluiceJSON's JSONToken has the same layout.
typedef struct sluice_json_token {
    uint32_t start;   // offset of the first byte in the source; strings: behind the opening quote
    uint32_t length;  // bytes in the source; strings: without quotes, still escaped
    uint32_t next;    // index of the token behind this value and its children
    uint32_t text;    // strings: offset of the unescaped bytes in `texts`; their count stands in the 4 bytes before
    uint8_t kind;     // sluice_json_kind
    uint8_t has_escapes;
} sluice_json_token;

enum sluice_json_kind {
    SLUICE_JSON_OBJECT,
    SLUICE_JSON_ARRAY,
    SLUICE_JSON_STRING,
    SLUICE_JSON_INTEGER,
    SLUICE_JSON_NUMBER,
    SLUICE_JSON_TRUE,
    SLUICE_JSON_FALSE,
    SLUICE_JSON_NULL,
};

enum sluice_json_status {
    SLUICE_JSON_OK,
    SLUICE_JSON_EMPTY,
    SLUICE_JSON_TOO_LARGE,
    SLUICE_JSON_OUT_OF_MEMORY,
    SLUICE_JSON_TOO_DEEP,
    SLUICE_JSON_INVALID_STRING,
    SLUICE_JSON_INVALID_NUMBER,
    SLUICE_JSON_INVALID_UTF8,
    SLUICE_JSON_CONTROL_CHARACTER,
    SLUICE_JSON_UNCLOSED_STRING,
    SLUICE_JSON_SYNTAX,
};

typedef struct sluice_json_document {
    const sluice_json_token *tokens;
    size_t count;
    const uint8_t *texts;
} sluice_json_document;

/// A parser for documents of up to `maximum_bytes` and `maximum_depth` nested brackets; null when memory is out.
sluice_json_parser *sluice_json_parser_create(size_t maximum_bytes, size_t maximum_depth);
void sluice_json_parser_destroy(sluice_json_parser *parser);

/// Parses `count` bytes that are followed by 64 readable ones; the document is valid until the next call.
enum sluice_json_status sluice_json_parse(
    sluice_json_parser *parser, const uint8_t *bytes, size_t count, sluice_json_document *document);

/// Writes `count` bytes escaped for the inside of a JSON string to `target`, which has room for the result (at most
/// 6 * count bytes) and 8 bytes more. Returns the bytes written.
size_t sluice_json_escape(const uint8_t *bytes, size_t count, uint8_t *target);

#ifdef __cplusplus
}
#endif
