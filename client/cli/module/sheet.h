/* What became of all calls of a method, and how that is printed.
 *
 * One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_MODULE_SHEET_H
#define ERGON_CLI_MODULE_SHEET_H

#include "client/cli/module/trial.h"

enum { SHEET_CODES_MAX = 16, SHEET_FAULTS_MAX = 8 };

struct sheet_code {
    char name[40];
    uint64_t count, number; /* how often, and first for which parameters */
    char text[300];         /* of the first */
};

/* A way in which the method ended its process, or did not return. */
struct fault {
    enum trial_end end; /* CRASHED or STUCK */
    enum trial_way way;
    uint64_t number; /* of the parameters, as rubbish.h counts; 0: they were given */
    uint64_t count;
    struct death death;
    uint8_t *params; /* malloc'ed: of the first, or smaller ones that do the same */
    size_t params_len;
    bool smaller; /* these */
    bool derived; /* the first were made of earlier ones: their number alone does not say which */
};

struct sheet {
    const char *module, *method; /* borrowed */
    uint64_t seed;
    uint64_t calls, answered, cut, late, others; /* others: of codes for which there is no room */
    uint64_t longest_us, longest_number;
    struct sheet_code codes[SHEET_CODES_MAX];
    uint32_t code_count;
    struct fault faults[SHEET_FAULTS_MAX];
    uint32_t fault_count;
    uint64_t crashed, stuck;
    bool gave_up; /* after too many of these */
};

void sheet_fini(struct sheet *h);

/* Counts a trial; `number` 0: its parameters were given.  A fault that is seen for the first time
 * is returned, with params of its own; else NULL. */
struct fault *sheet_count(struct sheet *h, uint64_t number, const struct trial *t,
                          const struct trial_outcome *out, const struct death *death);
/* Is it the same fault? */
bool fault_is(const struct fault *f, enum trial_end end, const struct death *death);
/* False: no memory, and it has what it had. */
bool fault_take_params(struct fault *f, struct span params);

/* A line, and some for each fault. */
void sheet_print(const struct sheet *h);
/* The same as a new object; NULL: out of memory. */
json_t *sheet_json(const struct sheet *h);

#endif
