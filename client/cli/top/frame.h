/* A picture of a server in lines of text, for a screen or a log.
 *
 * Pure, but for the clock; one thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_TOP_FRAME_H
#define ERGON_CLI_TOP_FRAME_H

#include <stdbool.h>
#include <stddef.h>

enum tone { TONE_PLAIN, TONE_TITLE, TONE_HEAD, TONE_BAD, TONE_BAR };

struct frame_line {
    char *text; /* UTF-8 without control characters; owned */
    enum tone tone;
};

/* At most `height` lines of at most `width` columns; what does not fit is left out. */
struct frame {
    struct frame_line *lines; /* owned */
    size_t count, room;
    size_t width, height;
};

void frame_init(struct frame *f, size_t width, size_t height);
void frame_fini(struct frame *f);

/* Room for another line? */
bool frame_has_room(const struct frame *f);

/* Appends a line; what could steer a terminal becomes a blank, and it is cut at the width. */
void frame_say(struct frame *f, enum tone tone, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The columns that a text takes; control characters count as one. */
size_t text_width(const char *text);

/* A new text of exactly `width` columns: cut, with + behind it, or filled with blanks, in front
 * with `right`.  NULL: out of memory. */
char *text_fit(const char *text, size_t width, bool right);

#endif
