/* Warnings about a configuration that is valid and yet unsafe: files that others may touch,
 * listeners that anybody may use, and lists of revoked certificates that expire.
 *
 * Thread: main.  These functions read the file system. */
#ifndef ERGON_SECURITY_WARNINGS_H
#define ERGON_SECURITY_WARNINGS_H

#include "server/config/config.h"

/* ---- files that others may touch ---- */

/* Logs the files that every user of the machine may write, and the secret files that every user may
 * read.  No other user should write the configuration, modules, certificates and authorities; keys,
 * tokens and the store are secret besides.  A file that does not exist, or whose permissions cannot
 * be read, is skipped. */
void file_rights_warn(const struct config *c);
uint32_t file_rights_count(const struct config *c); /* how many there are; logs nothing */

/* ---- listeners that anybody may use ---- */

/* A listener is unguarded if other machines reach it and the configuration grants rights to nobody
 * in particular: then every client may do everything, to the tasks of all tenants too.  On loopback
 * and on Unix sockets this is a good way to begin; elsewhere hardly anybody wants it. */
void unguarded_warn(const struct config *c);   /* in the log */
void unguarded_report(const struct config *c); /* to stderr */
/* The number of unguarded listeners, and of those without TLS that other machines reach. */
uint32_t unguarded_count(const struct config *c);

/* ---- a database on another machine ---- */

/* In the log: the store is one, and nothing proves which machine it is on. */
void database_warn(const struct config *c);

/* ---- lists of revoked certificates that expire ---- */

/* Once a list has expired, its listener refuses the certificates of all clients. */
enum { CRL_SOON = 3 * 86400 /* s; a list that expires within this time is reported */ };

/* Calls `report` for each list that expires before `now` (Unix seconds) + CRL_SOON, with a text for
 * people, and whether it has expired already.  Returns the number of lists that have expired. */
uint32_t crl_look(const struct config *c, int64_t now,
                  void (*report)(const char *path, const char *text, bool ended));

void crl_warn(const struct config *c);       /* in the log */
uint32_t crl_report(const struct config *c); /* to stderr; returns what crl_look() returns */

#endif
