/* Takes over what applications submit in transactions of their own (docs/own-transaction.md).
 *
 * While this node owns the tasks, a thread reads the inbox of the database (inbox_source.h), and
 * submits its rows by connections of this process to itself, one for each role of the database.  So
 * a row has the checks, the rights, the limits and the figures of any submission.  The store
 * removes the row in the transaction that writes the task; so it does not matter how often a row is
 * read.  A row that is refused for good is moved aside with its error; one that cannot be taken now
 * stays, and is tried again.
 *
 * Thread: the one that builds, starts and stops, but where another is named. */
#ifndef ERGON_INTAKE_INTAKE_H
#define ERGON_INTAKE_INTAKE_H

#include "proto/scanner.h"
#include "server/cluster/view.h"

struct acceptor;
struct intake;
struct inbox_source;

struct intake_options {
    const struct inbox_source *source;
    const char *where; /* the store's URL; copied */
    struct cluster *cluster;
    struct acceptor *acceptor; /* outlives the thread */
    struct scan_limits scan;   /* of a message: beyond them the server closes the connection */
};

/* Registers with the cluster and the acceptor.  NULL, and a text: no memory, no descriptor, too
 * many listeners. */
struct intake *intake_new(const struct intake_options *options, char *error, size_t size);
/* 0, or an errno. */
int intake_start(struct intake *b);
/* While the loops run, or have run.  Blocks, for about a second at most if the database does not
 * answer.  NULL is fine, and so is one that was not started. */
void intake_stop(struct intake *b);
void intake_free(struct intake *b); /* after intake_stop(); NULL is fine */

#endif
