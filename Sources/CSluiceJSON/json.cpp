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
// Returns the number of tokens, 0 when the brackets nest too deep (simdjson lets an empty innermost one through).
size_t walk(sluice_json_parser &self, const uint8_t *source) {
    const uint32_t *index = self.parser.implementation->structural_indexes.get();
    const uint32_t *const end = index + self.parser.implementation->n_structural_indexes;
    const uint64_t *tape = self.parser.doc.tape.get() + 1;  // behind the root entry
    const uint8_t *const texts = self.parser.doc.string_buf.get();
    sluice_json_token *const tokens = self.tokens;
    sluice_json_token *token = tokens;
    uint32_t *open = self.open;
    uint32_t *const deepest = open + self.maximum_depth;

    while (index < end) {
        const uint32_t at = *index++;
        switch (source[at]) {
        case ',':
        case ':':
            break;
        case '"': {
            const uint32_t text = static_cast<uint32_t>(*tape++ & internal::JSON_VALUE_MASK) + 4;
            uint32_t unescaped;
            std::memcpy(&unescaped, texts + text - 4, 4);
            uint32_t close = *index - 1;  // behind the last token stands the document's length
            while (source[close] != '"') close--;
            const uint32_t length = close - at - 1;
            const uint32_t position = static_cast<uint32_t>(token - tokens);
            *token++ = {at + 1, length, position + 1, text, SLUICE_JSON_STRING, length != unescaped};
            if (index < end && source[*index] == ':') index++;
            break;
        }
        case '{':
        case '[':
            if (open == deepest) return 0;
            tape++;
            *open++ = static_cast<uint32_t>(token - tokens);
            *token++ = {at, 0, 0, 0, static_cast<uint8_t>(source[at] == '{' ? SLUICE_JSON_OBJECT : SLUICE_JSON_ARRAY), 0};
            break;
        case '}':
        case ']': {
            tape++;
            sluice_json_token &opened = tokens[*--open];
            opened.length = at + 1 - opened.start;
            opened.next = static_cast<uint32_t>(token - tokens);
            break;
        }
        default: {
            uint32_t behind = *index;
            while (source[behind - 1] <= ' ') behind--;
            uint8_t kind;
            switch (static_cast<uint8_t>(*tape >> 56)) {
            case 'd': kind = SLUICE_JSON_NUMBER; tape += 2; break;
            case 't': kind = SLUICE_JSON_TRUE; tape += 1; break;
            case 'f': kind = SLUICE_JSON_FALSE; tape += 1; break;
            case 'n': kind = SLUICE_JSON_NULL; tape += 1; break;
            default: kind = SLUICE_JSON_INTEGER; tape += 2; break;
            }
            const uint32_t position = static_cast<uint32_t>(token - tokens);
            *token++ = {at, behind - at, position + 1, 0, kind, 0};
            break;
        }
        }
    }
    return static_cast<size_t>(token - tokens);
}

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
    document->count = walk(*self, bytes);
    if (document->count == 0) return SLUICE_JSON_TOO_DEEP;
    document->tokens = self->tokens;
    document->texts = self->parser.doc.string_buf.get();
    return SLUICE_JSON_OK;
}
