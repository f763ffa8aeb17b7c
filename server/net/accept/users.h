/* The names of this machine's users, by their ids, as the system has them.
 *
 * To ask for one may take as long as a name service likes to (LDAP, sssd), so a thread of its own
 * does it, and no loop waits.  What it has answered counts for USER_AGE: whose name changes, or who
 * gets the id of somebody else, is known by the new name within that time, and at once after a
 * reload.  There is room for USERS_KEPT; of two that fall together the one asked for last stays, so
 * that more of them only ask more often.
 *
 * Where the system answers that there is no such user, or its name is a number and so could be
 * taken for an id, the user is known by the id in digits.  Where it gives no answer (an error, no
 * memory, a name of USER_NAME_MAX bytes or more) the user has no name and must not be served:
 * nobody is taken for somebody else.
 *
 * Thread: the acceptor's, but for the look-up. */
#ifndef ERGON_NET_USERS_H
#define ERGON_NET_USERS_H

#include "server/net/connection/loop_message.h"

struct users;

enum {
    USERS_KEPT = 256,
    USERS_ASKED_MAX = 16, /* users at once; the caller sees to it */
    USER_NAME_MAX = 256   /* bytes, with the end */
};
#define USER_AGE AO_S(60)

/* Puts the name of a user into `name`.  False: there is no answer.  May block; on the names'
 * thread. */
typedef bool user_look_up(uint32_t uid, char *name, size_t size);
user_look_up users_ask_system;

/* Starts the thread.  What it finds goes to `answers`, a message LOOP_USER each.  NULL with errno:
 * no memory, or no thread.  Set-up. */
struct users *users_open(struct message_list *answers, user_look_up *look_up);
/* Nothing goes to `answers` any more.  NULL is fine.  Set-up. */
void users_hush(struct users *u);
/* Ends it, when no answer is on its way any more.  A look-up that does not end within a second is
 * left behind, with its thread.  NULL is fine.  Set-up. */
void users_close(struct users *u);

/* The name, borrowed until the next call of any of these; or NULL: it is asked for, once for all
 * who want to know, and users_answered() will tell. */
const char *users_find(struct users *u, uint32_t uid, ao_time now);
/* True: the answer is from before users_forget(), and does not count; it is asked for again, and
 * there will be another.  Else users_answered() has it. */
bool users_ask_again(struct users *u, struct loop_message *message);
/* An answer: the name, borrowed likewise, or NULL: there is none. */
const char *users_answered(struct users *u, struct loop_message *message, ao_time now,
                           uint32_t *uid);
/* All will be asked for again, those that are being asked for too. */
void users_forget(struct users *u);

#endif
