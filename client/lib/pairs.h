/* Maps of options, packed behind the other parameters of a request: a pair for each option that was
 * given.  One thread at a time; what memory failures there were comes out in request_done(). */
#ifndef ERGON_CLIENT_PAIRS_H
#define ERGON_CLIENT_PAIRS_H

#include "client/lib/requests.h"

/* The pairs of a map, counted while they are packed. */
struct pairs {
    struct pack pack;
    size_t count;
    const struct ergon_answer *refused; /* as of a request */
};

/* Copies an options struct of an older or newer caller: `to`, of to_size bytes, begins with a
 * size_t as `from` does.  NULL gives zeros.  False: it tells no size; zeros too. */
bool options_copy(void *to, size_t to_size, const void *from);

void pairs_init(struct pairs *m);
void pairs_text(struct pairs *m, const char *key, const char *text); /* NULL: no pair */
void pairs_number(struct pairs *m, const char *key, uint64_t v);     /* 0: none; ERGON_ZERO: a 0 */
void pairs_texts(struct pairs *m, const char *key, const char *const *texts,
                 size_t count); /* an array; 0: no pair */
void pairs_flag(struct pairs *m, const char *key, bool wanted, bool value);

void pairs_raw(struct pairs *m, const char *key, struct ergon_raw value); /* empty: no pair */

/* Appends the map to the parameters, and frees what was collected. */
void pairs_pack(struct pairs *m, struct ergon_request *r);

#endif
