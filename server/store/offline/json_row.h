/* Rows as JSON and back: columns are members, see offline.h.
 *
 * Thread: any. */
#ifndef ERGON_STORE_JSON_ROW_H
#define ERGON_STORE_JSON_ROW_H

#include <jansson.h>

#include "server/store/rows.h"

/* A new reference; NULL without memory. */
json_t *json_of_row(const struct store_table *m, const void *row, const struct row_names *names);

/* Bytes that stood as base64 in the rows of one line. */
enum { JSON_DECODED = 64 };
struct json_decoded {
    void *at[JSON_DECODED];
    unsigned count;
};
void json_decoded_free(struct json_decoded *d);

enum { JSON_WHY = 160 };

/* Fills the structure.  Its spans lie in the object, and in what `decoded` holds.  False, and why:
 * a member that is no column, or whose value its column cannot hold; no memory. */
bool json_to_row(const json_t *object, const struct store_table *m, void *row,
                 const struct row_names *names, struct json_decoded *decoded,
                 char why[static JSON_WHY]);

#endif
