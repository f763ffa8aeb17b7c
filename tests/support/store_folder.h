/* A folder of a test's own, with the path of a store in it. */
#ifndef ERGON_TESTS_STORE_FOLDER_H
#define ERGON_TESTS_STORE_FOLDER_H

#include <stddef.h>

enum { STORE_FOLDER = 64, STORE_PATH = 96 };

void store_folder_make(char folder[STORE_FOLDER], char path[STORE_PATH]);
void store_folder_remove(const char *folder); /* with all that is in it */

/* One statement on a store's file, as sqlite3 would run it: the rows as lines of text in `out`,
 * which is returned.  Fails the test that calls it if it cannot be run. */
const char *store_sql(const char *path, const char *text, char *out, size_t size);

#endif
