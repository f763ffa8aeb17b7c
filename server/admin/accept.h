/* What a client takes, by the headers Accept and Accept-Encoding of its request (RFC 9110, 12.5):
 * lists of ranges, each with a weight from 0 to 1.  The range that names a thing most exactly
 * counts, at whatever place in the list.  A header that comes twice is one list.  Elements that
 * break the grammar are skipped.
 *
 * Pure; any thread. */
#ifndef ERGON_ADMIN_ACCEPT_H
#define ERGON_ADMIN_ACCEPT_H

#include <stdbool.h>

struct evkeyvalq;

/* Something that can be had, as UTF-8. */
struct accept_media {
    const char *type;    /* "text/plain" */
    const char *version; /* its parameter; a range without any takes it, too */
};

struct accepted {
    unsigned weight; /* thousandths; 0: it is not taken */
    bool named;      /* itself, and not by an asterisk or by silence */
};

/* Without the header everything is taken. */
struct accepted accept_media(const struct evkeyvalq *headers, const struct accept_media *media);

/* Is it taken, and nothing liked better?  Without the header it is not. */
bool accept_gzip(const struct evkeyvalq *headers);

#endif
