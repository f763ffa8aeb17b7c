/* The rooms of the page, for the files of this folder: each writes its families, whole.
 *
 * Thread: that of metrics_write(). */
#ifndef ERGON_METRICS_FAMILIES_H
#define ERGON_METRICS_FAMILIES_H

#include "server/metrics/text.h"
#include "server/rpc/rpc.h"

enum { LABELS_MAX = 640 /* bytes of a sample's labels */ };

struct method_board;

void write_process(struct metrics_text *t, const struct rpc_shared *s);
void write_loops(struct metrics_text *t, const struct rpc_shared *s);
void write_connections(struct metrics_text *t, const struct rpc_shared *s);
void write_accounts(struct metrics_text *t, const struct rpc_shared *s);
void write_tasks(struct metrics_text *t, const struct rpc_shared *s);
void write_executors(struct metrics_text *t, const struct rpc_shared *s);
void write_modules(struct metrics_text *t, const struct rpc_shared *s);
void write_jobs(struct metrics_text *t, const struct rpc_shared *s);
void write_tenants(struct metrics_text *t, const struct rpc_shared *s);
bool write_actors(struct metrics_text *t, const struct rpc_shared *s);
bool write_queues(struct metrics_text *t, const struct rpc_shared *s);
void write_logs(struct metrics_text *t);
void write_cluster(struct metrics_text *t, const struct rpc_shared *s);
void write_spans(struct metrics_text *t, const struct rpc_shared *s);

/* Methods have a memory of which ones are shown: methods.c has why.  False without memory. */
struct method_board *method_board_new(void);
void method_board_free(struct method_board *b);
bool write_methods(struct metrics_text *t, const struct rpc_shared *s, struct method_board *b);

/* A family of one sample without labels. */
void write_one(struct metrics_text *t, const char *name, enum metrics_type type, const char *unit,
               uint64_t value, const char *help);
/* The same of ns, in seconds. */
void write_one_ns(struct metrics_text *t, const char *name, enum metrics_type type, uint64_t ns,
                  const char *help);

#endif
