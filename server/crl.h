/* Lists of revoked certificates that have ended, or will soon: with one that has ended no client of
 * its listener gets in.  Main thread. */
#ifndef ERGON_CRL_H
#define ERGON_CRL_H

#include "server/config/config.h"

enum { CRL_SOON = 3 * 86400 /* s before its end, from which on it is said */ };

/* Calls `tell` for each list that is not good until `now` (Unix seconds) + CRL_SOON: a text for
 * people, and whether nobody gets in already.  Returns how many of those latter there are. */
uint32_t crl_look(const struct config *c, int64_t now,
                  void (*tell)(const char *path, const char *text, bool ended));

void crl_warn(const struct config *c);         /* in the log */
uint32_t crl_complain(const struct config *c); /* to stderr; returns as crl_look() */

#endif
