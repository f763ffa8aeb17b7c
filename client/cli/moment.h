/* When something is to be, in words of people.  One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_MOMENT_H
#define ERGON_CLI_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "09:00": the next time that a clock shows it, today or tomorrow; "today 18:30", "tomorrow 9:00";
 * "2026-11-22 09:30", also with a T; seconds may follow.  By the clock of the time zone, NULL: of
 * the process.  Of a time that comes twice that day the first counts; one that is skipped is as
 * much later as the clock was set forward.  `now`: Unix seconds.
 *
 * True, and `unix_s`; or false, and a text that says what is wrong: no such zone, no such words, a
 * time that has passed today, or that the calendar does not have. */
bool moment_of_words(const char *text, const char *zone, int64_t now, int64_t *unix_s, char *why,
                     size_t size);

#endif
