/* One call of a method with rubbish, and what became of it.
 *
 * One thread, as cli.h says of the whole folder; trial_run() waits. */
#ifndef ERGON_CLI_MODULE_TRIAL_H
#define ERGON_CLI_MODULE_TRIAL_H

#include "base/span.h"
#include "client/cli/module/private_server.h"

/* How the method is called. */
enum trial_way {
    TRIAL_CALL,
    TRIAL_TASK,     /* submitted, and waited for */
    TRIAL_CANCEL,   /* called, and cancelled after a few ms */
    TRIAL_DEADLINE, /* submitted, with a deadline of a few ms */
    TRIAL_WAYS
};

enum trial_end {
    TRIAL_ANSWERED,
    TRIAL_REFUSED, /* with `code` */
    TRIAL_CUT,     /* cancelled, or over its time, and the handler has returned since */
    TRIAL_CRASHED, /* and the module's process ended */
    TRIAL_STUCK,   /* the handler did not return, and its process was ended */
    TRIAL_LOST     /* there is no server any more: private_server_failed(), or a signal */
};

struct trial {
    const char *method;
    struct span params; /* one array */
    enum trial_way way;
    uint32_t cut_ms;   /* of TRIAL_CANCEL and TRIAL_DEADLINE */
    uint32_t limit_ms; /* a call that has no answer is cancelled then */
    uint32_t stuck_ms; /* after that the server ends the process */
    uint32_t deaths;   /* that were counted before; one since then is of this trial, too */
};

struct trial_outcome {
    enum trial_end end;
    char code[40];
    char text[300];
    uint64_t took_us; /* until the answer */
    bool late;        /* no answer within limit_ms */
    uint32_t deaths;  /* of the module's process, so far */
};

/* "called", "submitted", ...; a constant. */
const char *trial_way_name(enum trial_way way);

/* Until the module's process is there, or does not start: before the first trial. */
void trial_await_process(struct private_server *s);
/* Whatever its end, the process is there again afterwards. */
void trial_run(struct private_server *s, const struct trial *t, struct trial_outcome *out);

#endif
