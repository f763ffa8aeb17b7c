/* Warnings about a configuration that is valid and yet unsafe: files that others may touch,
 * listeners that anybody may use, and lists of revoked certificates that end.
 *
 * Thread: main.  These functions ask the file system. */
#ifndef ERGON_SECURITY_WARNINGS_H
#define ERGON_SECURITY_WARNINGS_H

#include "server/config/config.h"

/* ---- files that others may touch ---- */

/* The log names the files that everybody on the machine may write, and the secret ones that
 * everybody may read.  The file of the configuration, modules, certificates and authorities must
 * not be written; keys, tokens and the store are secret.  A file that does not exist, or cannot be
 * asked for, is left out. */
void file_rights_warn(const struct config *c);
uint32_t file_rights_count(const struct config *c); /* says nothing */

/* ---- listeners that anybody may use ---- */

/* Listeners that other machines reach, and where nobody said who may do what, so that whoever comes
 * may do everything, to the tasks of all tenants too.  On loopback and on Unix sockets that is what
 * one wants to begin with; beyond, hardly anybody does, and so it is said. */
void unguarded_warn(const struct config *c); /* in the log */
void unguarded_tell(const struct config *c); /* to stderr */
/* How many these are, and those without TLS that other machines reach. */
uint32_t unguarded_count(const struct config *c);

/* ---- lists of revoked certificates that end ---- */

/* With a list that has ended no client of its listener gets in. */
enum { CRL_SOON = 3 * 86400 /* s before its end, from which on it is said */ };

/* Calls `tell` for each list that is not good until `now` (Unix seconds) + CRL_SOON: a text for
 * people, and whether nobody gets in already.  Returns how many of those latter there are. */
uint32_t crl_look(const struct config *c, int64_t now,
                  void (*tell)(const char *path, const char *text, bool ended));

void crl_warn(const struct config *c);         /* in the log */
uint32_t crl_complain(const struct config *c); /* to stderr; returns as crl_look() */

#endif
