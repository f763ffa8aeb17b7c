/* The sessions of the admin listener: a client that has authenticated gets a random id (the
 * cookie), and a random word that its page has to repeat (CSRF).
 *
 * Bounded in number, in all and for one principal, and in time: without a request, and in all.  The
 * table owns its sessions; what hangs on one (its connection to the server) its user takes off
 * before session_end().
 *
 * Pure but for the random ids: time comes from the caller.  One thread at a time. */
#ifndef ERGON_ADMIN_SESSION_H
#define ERGON_ADMIN_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ergon/ao.h>

enum {
    SESSIONS_MAX = 64,
    SESSIONS_A_PRINCIPAL = 16, /* then its own that was used longest ago ends */
    SESSION_WORD = 32,         /* random bytes of an id, and of a CSRF word */
    SESSION_WORD_TEXT = 2 * SESSION_WORD,
    SESSION_PRINCIPAL_MAX = 300
};
#define SESSION_IDLE  AO_S(1800)  /* without a request */
#define SESSION_WHOLE AO_S(43200) /* in all */

struct session {
    char id[SESSION_WORD_TEXT + 1];   /* "": free */
    char csrf[SESSION_WORD_TEXT + 1]; /* what X-Ergon-CSRF has to say */
    char principal[SESSION_PRINCIPAL_MAX];
    uint32_t listener;   /* by which it was opened */
    bool by_certificate; /* it counts only where that is shown */
    ao_time opened, used;
    uint32_t calls; /* under way */
    uint32_t lives; /* streams of events; while there is one it is not idle */
    void *user;     /* its connection */
};

struct sessions {
    struct session at[SESSIONS_MAX];
};

/* The session that has to end so that this principal gets another: one of its own, if it has as
 * many as it may; or, if all are taken, one of the principal that has most, if that one would still
 * have no fewer.  Of these the one that was used longest ago; NULL: none. */
struct session *sessions_surplus(struct sessions *s, const char *principal);
/* A new one.  NULL: all are taken, or the system gives no random bytes. */
struct session *session_open(struct sessions *s, const char *principal, uint32_t listener,
                             ao_time now);
/* The one of this id, which `length` bytes are, or NULL; the time that it takes tells nothing of
 * other ids.  It counts as used. */
struct session *session_find(struct sessions *s, const char *id, size_t length, ao_time now);
/* May what the page repeats be the session's?  NULL may not. */
bool session_knows(const struct session *s, const char *csrf);
/* One whose time is over, or NULL. */
struct session *sessions_expired(struct sessions *s, ao_time now);
bool sessions_any(const struct sessions *s);
/* Streams of events of all that this principal has opened. */
uint32_t sessions_lives(const struct sessions *s, const char *principal);
void session_end(struct session *s); /* its words are wiped */

#endif
