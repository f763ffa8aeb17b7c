/* Values of a scenario, of which some are drawn anew for each task:
 *
 *   {seq: NAME}        1, 2, 3, ...: one number a task and name; in options the text "NAME-1"
 *   {below: N}         a number from 0 to N - 1
 *   {one_of: [A, B]}   one of them */
#ifndef ERGON_SIM_USER_VALUES_H
#define ERGON_SIM_USER_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { SIM_SEQ_NAME = 32 };

/* The numbers that one task has. */
struct sim_seqs {
    uint32_t count;
    struct sim_seq {
        const char *name;
        uint64_t value;
    } * of;
};

/* Returns NULL, or what is wrong with the value. */
const char *sim_values_check(const json_t *value);
/* Returns whether a part of the value draws from this sequence.  `value` may be NULL. */
bool sim_values_have(const json_t *value, const char *sequence);
/* Returns a new reference.  `is_text`: a number of a sequence becomes a text. */
json_t *sim_values_draw(const json_t *value, struct sim_seqs *seqs, bool is_text);
uint64_t sim_seq_of(const struct sim_seqs *seqs, const char *name); /* 0: the task has none */
bool sim_seq_is(const struct sim_seqs *seqs, uint64_t value);       /* a sequence has this number */

#endif
