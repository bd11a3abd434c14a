// SPDX-License-Identifier: Apache-2.0
#include "CSluiceJSON.h"

#include <cstring>

namespace {

// Bit 7 of each byte is set where the byte is a quote, a backslash or below 0x20; bits above the first may be wrong.
inline uint64_t special(uint64_t word) {
    constexpr uint64_t ones = 0x0101010101010101ULL;
    constexpr uint64_t highs = 0x8080808080808080ULL;
    const uint64_t quote = word ^ (ones * '"');
    const uint64_t backslash = word ^ (ones * '\\');
    return (((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & highs;
}

inline uint8_t *escape_one(uint8_t byte, uint8_t *target) {
    static const char digits[] = "0123456789abcdef";
    uint8_t letter;
    switch (byte) {
    case '"': letter = '"'; break;
    case '\\': letter = '\\'; break;
    case '\b': letter = 'b'; break;
    case '\f': letter = 'f'; break;
    case '\n': letter = 'n'; break;
    case '\r': letter = 'r'; break;
    case '\t': letter = 't'; break;
    default:
        std::memcpy(target, "\\u00", 4);
        target[4] = static_cast<uint8_t>(digits[byte >> 4]);
        target[5] = static_cast<uint8_t>(digits[byte & 15]);
        return target + 6;
    }
    target[0] = '\\';
    target[1] = letter;
    return target + 2;
}

}  // namespace

extern "C" size_t sluice_json_escape(const uint8_t *bytes, size_t count, uint8_t *target) {
    const uint8_t *const end = bytes + count;
    uint8_t *const begin = target;
    while (end - bytes >= 8) {
        uint64_t word;
        std::memcpy(&word, bytes, 8);
        std::memcpy(target, &word, 8);
        const uint64_t found = special(word);
        if (found == 0) {
            bytes += 8;
            target += 8;
            continue;
        }
        // Little-endian: the lowest set bit belongs to the first special byte, and up to it the word is right.
        const unsigned clean = static_cast<unsigned>(__builtin_ctzll(found)) / 8;
        target = escape_one(bytes[clean], target + clean);
        bytes += clean + 1;
    }
    for (; bytes < end; bytes++) {
        if (*bytes >= 0x20 && *bytes != '"' && *bytes != '\\') *target++ = *bytes;
        else target = escape_one(*bytes, target);
    }
    return static_cast<size_t>(target - begin);
}
