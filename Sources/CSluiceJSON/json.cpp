// SPDX-License-Identifier: Apache-2.0
#define SIMDJSON_EXCEPTIONS 0
#include "CSluiceJSON.h"

#include <simdjson.h>

#include <cstdlib>
#include <cstring>
#include <new>

using namespace simdjson;

struct sluice_json_parser {
    dom::parser parser;
    size_t maximum_bytes;
    size_t maximum_depth;
    size_t capacity = 0;
    sluice_json_token *tokens = nullptr;
    size_t token_capacity = 0;
    uint32_t *open = nullptr;  // indexes of the tokens whose bracket is still open

    explicit sluice_json_parser(size_t bytes, size_t depth)
        : parser(bytes), maximum_bytes(bytes), maximum_depth(depth) {}
};

namespace {

sluice_json_status status_of(error_code code) {
    switch (code) {
    case SUCCESS: return SLUICE_JSON_OK;
    case EMPTY: return SLUICE_JSON_EMPTY;
    case CAPACITY: return SLUICE_JSON_TOO_LARGE;
    case MEMALLOC: return SLUICE_JSON_OUT_OF_MEMORY;
    case DEPTH_ERROR: return SLUICE_JSON_TOO_DEEP;
    case STRING_ERROR: return SLUICE_JSON_INVALID_STRING;
    case NUMBER_ERROR:
    case NUMBER_OUT_OF_RANGE: return SLUICE_JSON_INVALID_NUMBER;
    case UTF8_ERROR: return SLUICE_JSON_INVALID_UTF8;
    case UNESCAPED_CHARS: return SLUICE_JSON_CONTROL_CHARACTER;
    case UNCLOSED_STRING: return SLUICE_JSON_UNCLOSED_STRING;
    default: return SLUICE_JSON_SYNTAX;
    }
}

// simdjson grows to the exact size of each larger document; doubling makes that rare.
sluice_json_status make_room(sluice_json_parser &self, size_t count) {
    if (count <= self.capacity) return SLUICE_JSON_OK;
    if (count > self.maximum_bytes) return SLUICE_JSON_TOO_LARGE;
    size_t wanted = self.capacity ? self.capacity : 4096;
    while (wanted < count) wanted *= 2;
    if (wanted > self.maximum_bytes) wanted = self.maximum_bytes;
    self.capacity = 0;
    // simdjson refuses when the depth reaches its limit, so ours is one less than its own.
    if (self.parser.allocate(wanted, self.maximum_depth + 1) != SUCCESS) return SLUICE_JSON_OUT_OF_MEMORY;
    if (self.parser.doc.allocate(wanted) != SUCCESS) return SLUICE_JSON_OUT_OF_MEMORY;
    self.capacity = wanted;
    return SLUICE_JSON_OK;
}

sluice_json_status make_token_room(sluice_json_parser &self, size_t count) {
    if (count <= self.token_capacity) return SLUICE_JSON_OK;
    size_t wanted = self.token_capacity ? self.token_capacity : 512;
    while (wanted < count) wanted *= 2;
    void *moved = std::realloc(self.tokens, wanted * sizeof(sluice_json_token));
    if (!moved) return SLUICE_JSON_OUT_OF_MEMORY;
    self.tokens = static_cast<sluice_json_token *>(moved);
    self.token_capacity = wanted;
    return SLUICE_JSON_OK;
}

// The document is known to be valid here. simdjson's structural indexes name the first byte of every bracket, comma,
// colon, string and scalar in the source; its tape holds in the same order where each unescaped string stands and which
// numbers are whole. Walking both at once gives exact source extents without looking at the bytes between.
struct walker {
    const uint8_t *source;
    const uint8_t *texts;
    const uint32_t *index;  // behind the last one stands the document's length
    const uint64_t *tape;
    sluice_json_token *tokens;
    uint32_t count;

    // All in one function, so that these members live in registers.
    __attribute__((always_inline)) void put(uint32_t start, uint32_t length, uint32_t text, uint32_t kind, bool escapes) {
        sluice_json_token *const token = tokens + count;
        count++;
        token->start = start;
        token->length = length;
        token->next = count;
        token->text = text;
        token->kind = static_cast<uint8_t>(kind);
        token->has_escapes = escapes;
    }

    // Takes the string or key at `index`.
    __attribute__((always_inline)) void string() {
        const uint32_t at = *index++;
        const uint32_t text = static_cast<uint32_t>(*tape++) + 4;  // texts of 4 GiB and more cannot be
        uint32_t unescaped;
        std::memcpy(&unescaped, texts + text - 4, 4);
        uint32_t close = *index - 1;
        while (source[close] != '"') close--;  // white space
        const uint32_t length = close - at - 1;
        put(at + 1, length, text, SLUICE_JSON_STRING, length != unescaped);
    }

    // Takes the number or word at `index`.
    __attribute__((always_inline)) void scalar() {
        const uint32_t at = *index++;
        uint32_t behind = *index;
        while (source[behind - 1] <= ' ') behind--;
        uint32_t kind;
        switch (static_cast<uint8_t>(*tape++ >> 56)) {
        case 'd': kind = SLUICE_JSON_NUMBER; tape++; break;
        case 't': kind = SLUICE_JSON_TRUE; break;
        case 'f': kind = SLUICE_JSON_FALSE; break;
        case 'n': kind = SLUICE_JSON_NULL; break;
        default: kind = SLUICE_JSON_INTEGER; tape++; break;
        }
        put(at, behind - at, 0, kind, false);
    }

    // Returns the number of tokens, 0 when the brackets nest too deep (simdjson lets an empty innermost one through).
    size_t walk(uint32_t *const outermost, size_t maximum_depth) {
        uint32_t *open = outermost;  // indexes of the tokens whose bracket is still open
        uint32_t *const deepest = open + maximum_depth;
        bool in_object = false;
        for (;;) {
            if (in_object) {
                string();
                index++;  // the colon
            }
            const uint32_t at = *index;
            const uint8_t first = source[at];
            if (first == '"') {
                string();
            } else if (first == '{' || first == '[') {
                if (open == deepest) return 0;
                index++;
                tape++;
                *open++ = count;
                put(at, 0, 0, first == '{' ? SLUICE_JSON_OBJECT : SLUICE_JSON_ARRAY, false);
                in_object = first == '{';
                if (source[*index] != first + 2) continue;  // its own end is two code points on: it is empty
            } else {
                scalar();
            }
            for (;;) {
                if (open == outermost) return count;
                const uint32_t behind = *index++;
                if (source[behind] == ',') break;
                sluice_json_token &closed = tokens[*--open];
                tape++;
                closed.length = behind + 1 - closed.start;
                closed.next = count;
                in_object = open != outermost && tokens[open[-1]].kind == SLUICE_JSON_OBJECT;
            }
        }
    }
};

}  // namespace

extern "C" sluice_json_parser *sluice_json_parser_create(size_t maximum_bytes, size_t maximum_depth) {
    sluice_json_parser *self = new (std::nothrow) sluice_json_parser(maximum_bytes, maximum_depth);
    if (!self) return nullptr;
    self->open = static_cast<uint32_t *>(std::malloc((maximum_depth + 1) * sizeof(uint32_t)));
    if (!self->open) {
        delete self;
        return nullptr;
    }
    return self;
}

extern "C" void sluice_json_parser_destroy(sluice_json_parser *self) {
    std::free(self->tokens);
    std::free(self->open);
    delete self;
}

extern "C" sluice_json_status sluice_json_parse(
    sluice_json_parser *self, const uint8_t *bytes, size_t count, sluice_json_document *document) {
    if (count == 0) return SLUICE_JSON_EMPTY;
    sluice_json_status status = make_room(*self, count);
    if (status != SLUICE_JSON_OK) return status;
    const error_code code = self->parser.implementation->parse(bytes, count, self->parser.doc);
    if (code != SUCCESS) return status_of(code);
    status = make_token_room(*self, self->parser.implementation->n_structural_indexes);
    if (status != SLUICE_JSON_OK) return status;
    walker walker{bytes, self->parser.doc.string_buf.get(), self->parser.implementation->structural_indexes.get(),
                  self->parser.doc.tape.get() + 1, self->tokens, 0};
    document->count = walker.walk(self->open, self->maximum_depth);
    if (document->count == 0) return SLUICE_JSON_TOO_DEEP;
    document->tokens = self->tokens;
    document->texts = self->parser.doc.string_buf.get();
    return SLUICE_JSON_OK;
}
