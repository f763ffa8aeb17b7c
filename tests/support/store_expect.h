/* What store_load() tells, written as text: a line a row, in the order of the telling.
 *
 *     counts SUBMITTED DONE FAILED CANCELLED EXPIRED DEAD
 *      paused=METHOD
 *      cron=NAME FIELD=VALUE...
 *     task ID STATE FIELD=VALUE...
 *     event ID.SEQ FIELD=VALUE...
 *
 * Fields have the names they have in store.h; those that are zero or empty are left out.  States
 * are those of client_options(). */
#ifndef ERGON_TESTS_STORE_EXPECT_H
#define ERGON_TESTS_STORE_EXPECT_H

#include "server/store/store.h"

enum { STORE_TEXT = 8192 /* bytes */ };
struct store_text {
    char text[STORE_TEXT];
};

/* A reader that writes to `text`, which is emptied first. */
struct store_reader store_text_reader(struct store_text *text);

/* Opens the store at `path`, which nobody else may have open, reads all of it, closes it, and
 * compares.  Fails the test that calls it if the store does not open, cannot be read, or tells
 * anything but `expected`. */
void store_expect(const char *path, const char *expected);

#endif
