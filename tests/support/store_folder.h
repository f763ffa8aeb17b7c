/* A folder of a test's own, with the path of a store in it. */
#ifndef ERGON_TESTS_STORE_FOLDER_H
#define ERGON_TESTS_STORE_FOLDER_H

enum { STORE_FOLDER = 64, STORE_PATH = 96 };

void store_folder_make(char folder[STORE_FOLDER], char path[STORE_PATH]);
void store_folder_remove(const char *folder); /* with all that is in it */

#endif
