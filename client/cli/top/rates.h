/* What `ergon top` shows, from two samples of a server: rates are differences of counters over the
 * server's own clock.  After a restart of the server, which its pid and its uptime show, they are
 * those since its start.
 *
 * A sample is a JSON object with the answers that there were: `info` (server.info), `topology`
 * (server.topology), `queues` (queue.list), `connections` and `workers` (arrays of connection.list
 * and worker.list).  A model is one, too:
 *
 *   seconds     of the server's clock between both
 *   restarted   the counters began anew in between
 *   server      figures of the whole: see server_model() in rates.c
 *   handlers, queues, executors, loops, connections, workers
 *               arrays of objects; an array is missing where its answer is
 *
 * Pure; one thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_TOP_RATES_H
#define ERGON_CLI_TOP_RATES_H

#include <jansson.h>

/* A new reference.  `before` NULL: the first sample; its rates are those since the server's start.
 * Both are borrowed; what they lack is 0 or missing. */
json_t *model_of(const json_t *before, const json_t *now);

#endif
