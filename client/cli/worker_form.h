/* What a request is to a command, and what the command's output is to the server.  Pure, but for
 * memory; one thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_WORKER_FORM_H
#define ERGON_CLI_WORKER_FORM_H

#include <jansson.h>

#include "base/span.h"
#include "proto/pack.h"

#include <ergon/client_serve.h>

enum input_form {
    INPUT_JSON, /* all parameters as one line of JSON on standard input */
    INPUT_RAW,  /* the bytes of the only one on standard input */
    INPUT_ARGS, /* appended to the command, one argument each */
    INPUT_TURN  /* a line as worker_actor.h has it */
};

enum output_form {
    OUTPUT_AUTO, /* nothing is nil; JSON its value; other text a string; what is no text bytes */
    OUTPUT_JSON,
    OUTPUT_BIN,
    OUTPUT_TURN /* a result and changes */
};

/* False: there is no such form by this name; those of turns have none. */
bool input_form_of(const char *name, enum input_form *out);
bool output_form_of(const char *name, enum output_form *out);

/* One request as the command gets it. */
struct work {
    json_t *context;   /* owned: {call, task, attempt, left, tenant}; NULL: none came */
    struct span input; /* for standard input; in `text` or in the request */
    char *text;        /* owned */
    char **argv;       /* owned, with what behind `fixed` it points to; NULL behind the last */
    size_t fixed;
};

/* The one reason to refuse that is not the caller's fault. */
extern const char WORK_NO_MEMORY[];

/* Reads the parameters of a request of `method` that was sent with a context, for a command of so
 * many words; `params` and `command` outlive the work.  NULL, or why it is refused; work_fini()
 * follows either way. */
const char *work_read(struct work *w, const char *method, struct ergon_raw params,
                      enum input_form form, char *const *command, size_t words);
void work_fini(struct work *w);

/* Appends what a command wrote as one value.  NULL, or what is wrong with it. */
const char *output_pack(struct pack *to, enum output_form form, struct span bytes);

/* The last lines of standard error, which tell where a failure came from. */
enum { ERROR_TAIL_MAX = 16 * 1024 /* bytes */ };

struct error_tail {
    char *at; /* malloc'ed; NULL: nothing was written, or there is no memory for it */
    size_t len;
};

void error_tail_add(struct error_tail *t, const char *bytes, size_t len);

/* What there is to show, at most ERROR_TAIL_MAX bytes from the begin of a line on: without zeros,
 * and of a line that was drawn over itself with carriage returns its last state.  "": nothing.  The
 * tail's own, until something is added. */
const char *error_tail_text(struct error_tail *t);
void error_tail_fini(struct error_tail *t);

/* "3/10 halfway": how much of what is done, and the rest of the line; otherwise zeros, and all of
 * it. */
struct span progress_read(struct span line, uint64_t *done, uint64_t *total);

#endif
