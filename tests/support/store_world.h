/* The world of a test of the store: a folder of its own, the path of a store's file in it, and a
 * client of that.  A test that needs more begins its own world with this one. */
#ifndef ERGON_TESTS_STORE_WORLD_H
#define ERGON_TESTS_STORE_WORLD_H

#include "tests/support/store_client.h"

enum { STORE_FOLDER = 64, STORE_PATH = 96 };

struct store_world {
    char folder[STORE_FOLDER], path[STORE_PATH];
    struct store_client client;
};

/* For cmocka: *state becomes a world, zeroed but for folder and path, `size` bytes of it; and
 * the folder goes with all that is in it. */
int store_world_make_of(void **state, size_t size);
int store_world_make(void **state); /* of a struct store_world */
int store_world_remove(void **state);
#define STORE_TEST(name)                                                                           \
    TEST_OF(struct store_world *w, NULL, store_world_make, store_world_remove, name)

/* Opens and starts the store with client_options().  Fails the test if that does not work. */
void store_world_open(struct store_world *w);

/* One statement on a store's file, as sqlite3 would run it: the rows as lines of text in `out`,
 * which is returned.  Fails the test that calls it if it cannot be run. */
const char *store_sql(const char *path, const char *text, char *out, size_t size);

#endif
