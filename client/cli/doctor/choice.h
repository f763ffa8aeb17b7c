/* Which findings are wanted, by --only and --ignore, and which of them is trouble, by --fail-on.
 *
 * Pure; one thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_DOCTOR_CHOICE_H
#define ERGON_CLI_DOCTOR_CHOICE_H

#include "client/cli/options.h"

#include <jansson.h>

enum severity { SEVERITY_NONE, SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR };

struct choice {
    const struct option_list *only, *ignore; /* names, with commas between several; not owned */
    enum severity fail_on;                   /* the least that is trouble; SEVERITY_NONE: nothing */
};

/* Reads the two lists, which are borrowed, and `fail_on` (NULL: warning).  False, and a text in
 * `why`: there is no such finding, or severity. */
bool choice_read(struct choice *c, const struct option_list *only, const struct option_list *ignore,
                 const char *fail_on, char *why, size_t why_size);

bool choice_has(const struct choice *c, const char *name);
/* How many checks are wanted. */
size_t choice_count(const struct choice *c);
/* Those of the findings that are wanted; a new reference. */
json_t *choice_of(const struct choice *c, const json_t *findings);
bool choice_fails(const struct choice *c, enum severity worst);

/* Of the name of one; SEVERITY_NONE: it is none. */
enum severity severity_of(const char *name);
const char *severity_name(enum severity s); /* constant; NULL of SEVERITY_NONE */
enum severity severity_worst(const json_t *findings);

#endif
