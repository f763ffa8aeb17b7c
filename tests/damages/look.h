/* A test checks a file of a store that may be damaged, salvages it to a copy, and starts jobs on
 * it, as operators and servers do. */
#ifndef ERGON_TESTS_DAMAGES_LOOK_H
#define ERGON_TESTS_DAMAGES_LOOK_H

#include <stdbool.h>

#include "server/store/offline/offline.h"

enum { LOOK_TEXT = 600 };

/* Before the first of them: a round that hangs, or a fatal signal, names the number of its damage.
 */
void look_begin(void);
void look_at(uint64_t number);
uint64_t look_current(void);
uint64_t look_from_environment(const char *name, uint64_t otherwise);

/* All fail the test that calls them where something is said of nothing. */
enum store_offline_end look_check(const char *path);
/* What can be read of the file at `from` makes a sound store at `to`, if it can be read at all.
 * False: it cannot. */
bool look_save(const char *from, const char *to);
/* As a server starts, runs so many rounds, and stops; false: the file was refused, with a text. */
bool look_start(const char *path, unsigned rounds, char error[static LOOK_TEXT]);

#endif
