/* What applications and people have of the schema: the function ergon.submit() with its tables, and
 * the views.  docs/own-transaction.md describes them.  Pure; any thread. */
#ifndef ERGON_STORE_POSTGRES_DDL_INBOX_H
#define ERGON_STORE_POSTGRES_DDL_INBOX_H

#include "server/store/postgres/sql.h"

#define INBOX_REFUSED_KEEP "10000" /* rows of ergon.inbox_refused */

/* Statements that may run again: they make what is not there, and replace functions and views. */
void ddl_add_inbox(struct sql *sql);
/* The roles ergon_submit and ergon_read, where the session may make roles, and the rights of those
 * that are there.  Behind all grants to the role of the nodes. */
void ddl_add_inbox_roles(struct sql *sql);

#endif
