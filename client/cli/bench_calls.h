/* The calls of `ergon bench`: one of the command line, a mix, or those of a file.  One thread, as
 * cli.h says of the whole folder. */
#ifndef ERGON_CLI_BENCH_CALLS_H
#define ERGON_CLI_BENCH_CALLS_H

#include "client/bench/mix.h"
#include "client/bench/rpc.h"
#include "proto/pack.h"

/* What the user wrote; it outlives the calls.  One of `mix` and `file` at most is given. */
struct bench_calls_plan {
    const char *method;
    int argc;
    char **argv;        /* of `method` */
    const char *mix;    /* "echo=90,hash sha256 x=10"; NULL: none */
    const char *file;   /* a JSON map a line, with method, params and weight; NULL: none */
    const char *submit; /* a JSON map of the options of a task: the calls are submitted; or NULL */
    const char *token;  /* NULL: none */
};

struct bench_calls {
    struct rpc_work work; /* for a load; points into what follows */
    struct bench_mix mix;
    bool payload;                      /* some call has the payload as its parameter */
    char *names[BENCH_MIX_MAX];        /* owned; work.count of them, for people */
    struct pack params[BENCH_MIX_MAX]; /* owned; work.count of them */
    struct pack options;               /* owned */
};

/* False: a word of the command line, or a line of the file, is not what it should be, and a message
 * was printed; or there is no memory.  bench_calls_fini() must follow in any case. */
bool bench_calls_init(struct bench_calls *c, const struct bench_calls_plan *plan);
void bench_calls_fini(struct bench_calls *c);

#endif
