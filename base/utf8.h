/* Text of others: is it UTF-8, and what to make of it if not.  Pure; any thread. */
#ifndef ERGON_BASE_UTF8_H
#define ERGON_BASE_UTF8_H

#include "base/span.h"

/* Bytes of the character at the front of a text that is not empty; 0: there is none. */
size_t utf8_length(struct span text);

/* Is the whole text UTF-8? */
bool utf8_valid(struct span text);

/* Is it a name: 1 to `most` bytes of UTF-8 without U+0000, which databases do not keep? */
bool utf8_is_name(struct span text, size_t most);

/* The first `max` bytes at most, without a torn character at the end. */
struct span utf8_cut(struct span text, size_t max);

/* The end of a text, at most `max` bytes, that begins between characters. */
struct span utf8_tail(struct span text, size_t max);

/* The code point of a character as utf8_length() found it. */
uint32_t utf8_code(struct span character);

/* A character that steers a terminal or the direction of text, or breaks a line: C0 and C1, DEL,
 * U+2028 and U+2029, the marks, embeddings, overrides and isolates of bidirectional text. */
bool utf8_steers(struct span character);

/* As utf8_clean(), and with a blank for each character that steers. */
size_t utf8_plain(void *to, size_t room, struct span text);

/* As utf8_plain(), but line feeds and tabs stay; and of a text that does not fit the end is copied,
 * from the begin of a character on. */
size_t utf8_plain_end(void *to, size_t room, struct span text);

/* Copies text, each byte that belongs to no character replaced by U+FFFD (3 bytes), and cut at the
 * end of a character where it does not fit into `room` bytes.  Returns the length; ends with no
 * NUL.  `to` and the text do not overlap. */
size_t utf8_clean(void *to, size_t room, struct span text);

/* As utf8_clean(), and with a blank for U+0000. */
size_t utf8_text(void *to, size_t room, struct span text);

#endif
