/* Parameters that a handler may not expect, by seed and number: the same on every machine.
 *
 *     1                        no parameters
 *     up to rubbish_fixed()    values at the borders of each type, alone; counts from 0 to 20;
 *                              each word of the module, alone
 *     all others               by chance, which the seed fixes
 *
 * Pure; one thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_MODULE_RUBBISH_H
#define ERGON_CLI_MODULE_RUBBISH_H

#include "client/bench/random.h"
#include "client/cli/module/words.h"
#include "proto/pack.h"

struct rubbish {
    uint64_t seed;
    const struct words *words; /* of the module; borrowed; may be empty */
};

enum {
    RUBBISH_PARAMS_MAX = 20,
    /* Levels of a parameter: as many as a task may have where the limit of a message is 32. */
    RUBBISH_DEPTH = 29,
    RUBBISH_LARGE = 1 << 20 /* bytes of the largest values */
};

/* How many numbers, from 1 on, have parameters that do not depend on the seed. */
uint64_t rubbish_fixed(const struct rubbish *r);

/* Packs an array: the parameters with this number.  `to` remembers a failure, as below. */
void rubbish_pack(const struct rubbish *r, uint64_t number, struct pack *to);

/* Packs a value by chance; the same of the type of another one, if that is a number or a text. */
void rubbish_value(const struct rubbish *r, struct bench_random *chance, struct pack *to);
void rubbish_like(const struct rubbish *r, struct bench_random *chance, const msgpack_object *other,
                  struct pack *to);

#endif
