/* The schema in PostgreSQL: tables made from the maps of columns (rows.h), the rows of the cluster,
 * its functions, and what applications have (ddl_inbox.h).  Pure; any thread. */
#ifndef ERGON_STORE_POSTGRES_DDL_H
#define ERGON_STORE_POSTGRES_DDL_H

#include "server/store/postgres/sql.h"

enum { DDL_MAX = 48 * 1024 };
/* The schema and all that is in it, as statements that run in one transaction; `cluster` has
 * letters, digits and ".-_" only. */
void ddl_create(struct sql *sql, const char *cluster);
/* What this version has and the schema lacks: tables, columns that may be NULL, functions.  What is
 * there stays, so that nodes of the version before go on.  No table is locked that lacks nothing.
 */
void ddl_upgrade(struct sql *sql);
/* What a role needs to run ergond.  The role's name is quoted by the caller. */
void ddl_grant(struct sql *sql, const char *quoted_role);

#endif
