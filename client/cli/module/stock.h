/* Parameters of a method that were answered in a way that was new: of them others are made, which
 * get further than rubbish alone.  "parameter 2 must be an integer" says that the first was good.
 *
 * Pure; one thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_MODULE_STOCK_H
#define ERGON_CLI_MODULE_STOCK_H

#include "client/cli/module/rubbish.h"
#include "client/cli/module/trial.h"

enum { STOCK_MAX = 64, STOCK_BYTES_MAX = 4096 /* of the parameters of one */ };

struct stocked {
    uint8_t *params; /* malloc'ed */
    size_t len;
    uint64_t sign; /* of the answer */
    bool answered; /* with a result */
};

struct stock {
    struct stocked at[STOCK_MAX];
    uint32_t count;
};

void stock_free(struct stock *s);
/* Keeps the parameters if there is room, and their answer is new. */
void stock_take(struct stock *s, struct span params, const struct trial_outcome *out);
/* Packs an array that is like one of them, by this seed and number.  False: there are none. */
bool stock_pack(const struct stock *s, const struct rubbish *r, uint64_t number, struct pack *to);

#endif
