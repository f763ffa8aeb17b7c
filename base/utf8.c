#include "base/utf8.h"

/* By the first byte; 0: none begins so. */
static size_t announced(uint8_t first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* The second byte shuts out what could be said shorter, surrogates, and what lies beyond U+10FFFF.
 */
static bool second_fits(uint8_t first, uint8_t second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second < 0xa0;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second < 0x90;
    default:
        return true;
    }
}

size_t utf8_length(struct span text)
{
    size_t len = announced(text.at[0]);

    if (len > text.len || (len > 1 && !second_fits(text.at[0], text.at[1])))
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((text.at[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

bool utf8_valid(struct span text)
{
    while (text.len > 0) {
        size_t len = text.at[0] < 0x80 ? 1 : utf8_length(text);
        if (len == 0)
            return false;
        text = span_behind(text, len);
    }
    return true;
}

bool utf8_is_name(struct span text, size_t most)
{
    return text.len > 0 && text.len <= most && !memchr(text.at, '\0', text.len) && utf8_valid(text);
}

struct span utf8_cut(struct span text, size_t max)
{
    if (text.len <= max)
        return text;
    while (max > 0 && (text.at[max] & 0xc0) == 0x80)
        max--;
    return span_of(text.at, max);
}

struct span utf8_tail(struct span text, size_t max)
{
    size_t skip = text.len > max ? text.len - max : 0;

    if (skip == 0)
        return text;
    while (skip < text.len && (text.at[skip] & 0xc0) == 0x80)
        skip++;
    return span_behind(text, skip);
}

uint32_t utf8_code(struct span character)
{
    static const uint8_t first[] = {0, 0x7f, 0x1f, 0x0f, 0x07}; /* its bits, by the length */
    uint32_t code = character.at[0] & first[character.len];

    for (size_t i = 1; i < character.len; i++)
        code = code << 6 | (character.at[i] & 0x3f);
    return code;
}

bool utf8_steers(struct span character)
{
    static const struct {
        uint16_t first, last;
    } ranges[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                  {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    uint32_t code = utf8_code(character);

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

enum steering {
    STEERS_STAYS,
    STEERS_ZERO, /* U+0000 is blanked */
    STEERS_BLANKED,
    STEERS_LINES /* blanked but for \n and \t */
};

static bool is_blanked(struct span character, enum steering how)
{
    if (how <= STEERS_ZERO)
        return how == STEERS_ZERO && character.at[0] == '\0';
    bool lines = character.at[0] == '\n' || character.at[0] == '\t';
    return !(how == STEERS_LINES && lines) && utf8_steers(character);
}

static size_t copy(void *to, size_t room, struct span text, enum steering how)
{
    static const uint8_t instead[] = {0xef, 0xbf, 0xbd};
    uint8_t *out = to;
    size_t done = 0;

    while (text.len > 0) {
        size_t len = utf8_length(text);
        struct span next = len > 0 ? span_of(text.at, len) : span_of(instead, sizeof instead);
        if (is_blanked(next, how))
            next = span_of((const uint8_t *)" ", 1);
        if (next.len > room - done)
            break;
        memcpy(out + done, next.at, next.len);
        done += next.len;
        text = span_behind(text, len > 0 ? len : 1);
    }
    return done;
}

size_t utf8_clean(void *to, size_t room, struct span text)
{
    return copy(to, room, text, STEERS_STAYS);
}

size_t utf8_text(void *to, size_t room, struct span text)
{
    return copy(to, room, text, STEERS_ZERO);
}

size_t utf8_plain(void *to, size_t room, struct span text)
{
    return copy(to, room, text, STEERS_BLANKED);
}

size_t utf8_plain_end(void *to, size_t room, struct span text)
{
    struct span end = utf8_tail(text, room);
    if (!utf8_valid(end)) /* each byte may become three */
        end = utf8_tail(text, room / 3);
    return copy(to, room, end, STEERS_LINES);
}
