/* Packs and reads the messages of the simulation's clients and workers, in MessagePack. */
#ifndef ERGON_SIM_WIRE_H
#define ERGON_SIM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "proto/scanner.h"

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
void sim_put_bool(struct sim_bytes *b, bool v);
void sim_put_nil(struct sim_bytes *b);
void sim_put_zeros(struct sim_bytes *b, uint32_t len); /* bytes: a bin */

/* A message of the server: a request, a response or a notification. */
struct sim_message {
    uint64_t type; /* 0, 1, 2 */
    uint64_t id;   /* of the first two */
    struct span method, params;
    struct span error;  /* of a response; empty: none */
    struct span result; /* one value */
};

/* Reads the message at the start of the bytes.  Returns its length, or 0 if it is not whole. */
size_t sim_read_any_message(struct span bytes, struct sim_message *out);

/* Responds to a request of the server: with the text `result` if `error` is NULL. */
void sim_put_response(struct sim_bytes *b, uint64_t id, const char *error, const char *result);
void sim_put_notification(struct sim_bytes *b, const char *method, uint32_t params);

struct sim_answer {
    uint64_t id;
    struct span error;  /* empty: none */
    struct span result; /* one value */
};

/* Reads the message at the start of the bytes.  Returns its length, or 0 if it is not whole: then
 * `s` goes on where it stopped once there are more.  *is_answer is false if the message is no
 * response. */
size_t sim_read_message(struct scanner *s, struct span bytes, struct sim_answer *out,
                        bool *is_answer);

/* Return the value of a key in a map: raw, as text, or whether it is true.  Without the key: empty,
 * or false. */
struct span sim_member(struct span map, const char *key);
struct span sim_member_text(struct span map, const char *key);
bool sim_member_true(struct span map, const char *key);
uint64_t sim_member_uint(struct span map, const char *key); /* 0: it has none */

void sim_show(struct span value, char *text, size_t size); /* for people; size > 0 */

#endif
