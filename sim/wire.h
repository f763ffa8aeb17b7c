/* Requests and answers as bytes: what a client of the simulation needs of MessagePack. */
#ifndef ERGON_SIM_WIRE_H
#define ERGON_SIM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum { SIM_WIRE_MAX = 1 << 16 };

/* Requests that are sent together. */
struct sim_bytes {
    uint8_t at[SIM_WIRE_MAX];
    size_t len;
};

void sim_put_request(struct sim_bytes *b, uint64_t id, const char *method, uint32_t params);
void sim_put_array(struct sim_bytes *b, uint32_t count);
void sim_put_map(struct sim_bytes *b, uint32_t pairs);
void sim_put_text(struct sim_bytes *b, const char *text);
void sim_put_uint(struct sim_bytes *b, uint64_t v);

struct sim_answer {
    uint64_t id;
    struct span error;  /* empty: none */
    struct span result; /* one value */
};

/* The message at the start of the bytes; its length, or 0: it is not whole.  *is_answer false: it
 * is something else. */
size_t sim_read_message(struct span bytes, struct sim_answer *out, bool *is_answer);

/* Of a map, the value of a key: raw, as text, or whether it is true.  Empty, false: it has none. */
struct span sim_member(struct span map, const char *key);
struct span sim_member_text(struct span map, const char *key);
bool sim_member_true(struct span map, const char *key);

void sim_show(struct span value, char *text, size_t size); /* for people; size > 0 */

#endif
