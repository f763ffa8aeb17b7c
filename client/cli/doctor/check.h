/* A check of `ergon doctor`: looks at facts about a server, and says what it finds.
 *
 * Facts are JSON, so that a test writes them down and a check needs no server:
 *
 *   before     {info, queues}: the answers of server.info and queue.list of a moment ago
 *   info       server.info        topology   server.topology
 *   queues     queue.list; queues in which something waits and nothing runs also have the `reason`
 *              and the `text` of queue.explain
 *   tenants    queue.tenants      crons      cron.list
 *   semaphores sem.list; those that are held also have the `holders` of sem.explain
 *   workers    worker.list        cluster    cluster.status, of a node of a cluster
 *   actors     actor.list of the longest mailboxes
 *   actor_types  actor.types
 *   silent     the methods that did not answer in time
 *   now        Unix ms, and `asked_ms`, how long server.info took: `now` is when it was answered
 *   local      {clock_unsynchronised, kernel}: of this machine, where it is the server's too
 *   backup_days  how old a backup of the store may be
 *   no_connection  {kind, url, why}, and then nothing else; kind: "refused" (nobody listens there),
 *              "silent" (no way, or no answer), "tls", "denied" (a token or certificate is not
 *              taken), "no right" (to a Unix socket)
 *
 * What was not asked, or not allowed, or what an older server does not say, is missing; a check
 * says nothing about what is missing.
 *
 * A finding is a JSON object: `finding` (its name, which is stable), `severity` ("error": something
 * does not work; "warning": it will, or may, stop working; "note": one should know it), `about` (a
 * queue, an executor, or ""), `text` (one line), `evidence` (figures) and `advice` (one line).
 *
 * Pure, but for memory; one thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_DOCTOR_CHECK_H
#define ERGON_CLI_DOCTOR_CHECK_H

#include <jansson.h>
#include <stdbool.h>

struct visit;

struct check {
    const char *name;
    const char *severity;
    void (*look)(struct visit *v);
    const char *advice; /* {} stands for what it is about, as a word of the shell */
};

/* Of one server. */
struct visit {
    const json_t *facts;
    const struct check *check; /* whose turn it is */
    json_t *findings;
};

/* The fact at a path like "info.kept.bytes"; NULL: it is missing. */
json_t *fact(const struct visit *v, const char *path);
/* The same as a number; 0: it is missing, or no number. */
double figure(const struct visit *v, const char *path);

/* Is the first at least so many percent of the second, which is not 0? */
bool fills(double used, double limit, double percent);
/* Of a counter, how much it has grown between both looks; 0: the server has started anew, or one of
 * the two is missing.  `path` begins behind "before." */
double grown(const struct visit *v, const char *path);

/* Adds a finding of v->check.  Takes `evidence`, an object. */
void found(struct visit *v, const char *about, json_t *evidence, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The entry of a list (of objects) whose member `key` is this text; NULL: there is none. */
json_t *entry_of(const json_t *list, const char *key, const char *text);
/* Calls `look` with each entry of a list of objects, which is a fact, and with its member `key`. */
void each_entry(struct visit *v, const char *list, const char *key,
                void (*look)(struct visit *v, const json_t *entry, const char *name));

#endif
