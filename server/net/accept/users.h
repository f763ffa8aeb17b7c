/* The names of this machine's users, by their ids, as the system has them.
 *
 * To ask for one may take as long as a name service likes to (LDAP, sssd), so a thread of its own
 * does it, and no loop waits.  Its answer is valid for USER_AGE.  After that, until USER_TRUSTED is
 * over, the user keeps the old name while the system is asked anew.  So a user that connects
 * regularly never waits for the name service, and is not refused while it is down for a while.  A
 * changed name, or a new owner of an id, takes effect after USER_TRUSTED at the latest.  As a rule
 * it does so after USER_AGE and one more connection, and at once after a reload.  There is room for
 * USERS_KEPT: the least recently seen user of the USER_WAYS in one set is forgotten first.
 *
 * The names of root and the server's own user are looked up at set-up, and are not forgotten: these
 * two never wait.  Where the system has not given their names, their ids in digits are their names.
 *
 * Where the system answers that there is no such user, or its name is a number and so could be
 * taken for an id, the user is known by the id in digits.  Where it gives no answer (an error, no
 * memory, a name of USER_NAME_MAX bytes or more) the user has no name and must not be served: no
 * user is taken for another.
 *
 * Thread: the acceptor's, but for the look-up. */
#ifndef ERGON_NET_USERS_H
#define ERGON_NET_USERS_H

#include "server/net/connection/loop_message.h"

struct users;

enum {
    USERS_KEPT = 256,
    USER_WAYS = 8,
    USERS_ASKED_MAX = 16, /* users at once */
    USER_NAME_MAX = 256   /* bytes, with the end */
};
#define USER_AGE     AO_S(60)
#define USER_TRUSTED AO_S(3600)

/* Puts the name of a user into `name`.  False: there is no answer.  May block; on the names'
 * thread. */
typedef bool user_look_up(uint32_t uid, char *name, size_t size);
user_look_up users_ask_system;

/* Starts the thread.  What it finds goes to `answers`, a message LOOP_USER each; the first are
 * those of root and the server's user, for which this waits, for `patience` at most.  The seed
 * keeps people from choosing ids that fall together; it is copied.  NULL with errno: no memory, or
 * no thread.  Set-up. */
struct users *users_open(struct message_list *answers, user_look_up *look_up,
                         const uint64_t seed[2], ao_time patience);
/* Nothing goes to `answers` any more.  NULL is fine.  Set-up. */
void users_hush(struct users *u);
/* Ends it, when no answer is on its way any more.  A look-up that does not end within a second is
 * left behind, with its thread.  NULL is fine.  Set-up. */
void users_close(struct users *u);

/* The name, borrowed until the next call of any of these; or NULL: it is not known, and
 * users_ask() asks for it. */
const char *users_find(struct users *u, uint32_t uid, ao_time now);
/* Asks the system for it, once for all waiting connections; users_answered() gives the answer.
 * False: USERS_ASKED_MAX others are being asked for; after the next answer there is room. */
bool users_ask(struct users *u, uint32_t uid);
/* True: the answer is from before users_forget(), and does not count; it is asked for again, and
 * there will be another.  Else users_answered() has it. */
bool users_ask_again(struct users *u, struct loop_message *message);
/* An answer: the name, borrowed likewise, or NULL: there is none. */
const char *users_answered(struct users *u, struct loop_message *message, ao_time now,
                           uint32_t *uid);
/* All will be looked up again, those whose look-up is under way too.  The names of root and the
 * server's user are looked up at once; the old ones remain in use until then. */
void users_forget(struct users *u);

#endif
