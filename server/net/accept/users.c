#include "server/net/accept/users.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/siphash.h"
#include "server/runtime/thread.h"

enum {
    SPACE_LEAST = 1024,
    SPACE_MOST = 1 << 20, /* bytes of an entry of the system's; a group of thousands has less */
    USER_SETS = USERS_KEPT / USER_WAYS
};
#define PATIENCE AO_S(1) /* at the end */

/* Whose it is at any time: the acceptor's, the thread's from ask() until it is sent to `answers`.
 */
struct question {
    struct loop_message message;
    STAILQ_ENTRY(question) next; /* in `asked` */
    uint32_t uid;
    uint32_t generation; /* the acceptor's: of the names, when it was asked */
    bool open;           /* the acceptor's: asked, and not answered */
    bool known;          /* it has a name */
    char name[USER_NAME_MAX];
};

struct user {
    uint32_t uid;
    bool known;   /* else the entry is empty */
    ao_time at;   /* when it was asked */
    ao_time used; /* when it was last found */
    char name[USER_NAME_MAX];
};

struct users {
    user_look_up *look_up;

    /* The acceptor's. */
    struct user own[2]; /* root, and the server's user; known */
    struct user kept[USER_SETS][USER_WAYS];
    uint64_t seed[2];
    uint32_t generation; /* one more whenever they were forgotten */
    struct question questions[USERS_ASKED_MAX];
    pthread_t thread;

    /* Both threads', under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct message_list *answers; /* NULL: the answers are not wanted any more */
    STAILQ_HEAD(, question) asked;
    bool busy;        /* with a look-up */
    bool left_behind; /* the owner has closed it: the thread frees it */
};

/* --- Its thread --- */

static bool is_number(const char *name)
{
    return name[strspn(name, "0123456789")] == '\0';
}

static bool put_name(const struct passwd *found, uint32_t uid, char *name, size_t size)
{
    if (found == NULL || is_number(found->pw_name))
        return snprintf(name, size, "%u", uid) > 0;
    return (size_t)snprintf(name, size, "%s", found->pw_name) < size;
}

/* What getpwuid_r(3) may return where there is no such user. */
static bool says_nobody(int error)
{
    return error == ENOENT || error == ESRCH;
}

bool users_ask_system(uint32_t uid, char *name, size_t size)
{
    for (size_t room = SPACE_LEAST; room <= SPACE_MOST; room *= 2) {
        char *space = malloc(room);
        struct passwd entry, *found = NULL;
        int error = ENOMEM;
        if (space == NULL)
            return false;
        do
            error = getpwuid_r(uid, &entry, space, room, &found);
        while (error == EINTR);
        bool good = (error == 0 || says_nobody(error)) && put_name(found, uid, name, size);
        free(space);
        if (error != ERANGE)
            return good;
    }
    return false;
}

/* NULL: there is no more to do.  Under the lock. */
static struct question *next_question(struct users *u)
{
    while (STAILQ_EMPTY(&u->asked) && u->answers != NULL)
        pthread_cond_wait(&u->changed, &u->lock);
    return u->answers == NULL ? NULL : STAILQ_POP(&u->asked, next);
}

static void users_free(struct users *u)
{
    pthread_cond_destroy(&u->changed);
    pthread_mutex_destroy(&u->lock);
    free(u);
}

static void *thread_main(void *arg)
{
    struct users *u = arg;

    thread_settle("names", -1, 0);
    pthread_mutex_lock(&u->lock);
    for (struct question *q; (q = next_question(u)) != NULL;) {
        u->busy = true;
        pthread_mutex_unlock(&u->lock);
        q->known = u->look_up(q->uid, q->name, sizeof q->name);
        pthread_mutex_lock(&u->lock);
        u->busy = false;
        if (u->answers != NULL)
            message_send(u->answers, &q->message);
        pthread_cond_broadcast(&u->changed);
    }
    bool frees = u->left_behind;
    pthread_cond_broadcast(&u->changed);
    pthread_mutex_unlock(&u->lock);
    if (frees)
        users_free(u);
    return NULL;
}

/* --- Set-up --- */

/* Until the thread does nothing, but no longer than `patience`; and if `all`, has nothing to do.
 * Under the lock. */
static void wait_for_thread(struct users *u, bool all, ao_time patience)
{
    const struct timespec end = clock_spec(clock_wall() + patience);
    int error = 0;

    while ((u->busy || (all && !STAILQ_EMPTY(&u->asked))) && error == 0)
        error = pthread_cond_timedwait(&u->changed, &u->lock, &end);
}

static void ask_for_own(struct users *u)
{
    users_ask(u, u->own[0].uid);
    users_ask(u, u->own[1].uid);
}

static void init(struct users *u, const uint64_t seed[2])
{
    STAILQ_INIT(&u->asked);
    pthread_mutex_init(&u->lock, NULL);
    pthread_cond_init(&u->changed, NULL);
    memcpy(u->seed, seed, sizeof u->seed);
    u->own[1].uid = geteuid();
    for (struct user *own = u->own; own < u->own + 2; own++) {
        own->known = true;
        snprintf(own->name, sizeof own->name, "%u", own->uid);
    }
}

struct users *users_open(struct message_list *answers, user_look_up *look_up,
                         const uint64_t seed[2], ao_time patience)
{
    struct users *u = calloc(1, sizeof *u);

    if (u == NULL)
        return NULL;
    u->look_up = look_up;
    u->answers = answers;
    init(u, seed);
    int error = thread_start_undisturbed(&u->thread, thread_main, u);
    if (error != 0) {
        users_free(u);
        errno = error;
        return NULL;
    }
    ask_for_own(u);
    pthread_mutex_lock(&u->lock);
    wait_for_thread(u, true, patience);
    pthread_mutex_unlock(&u->lock);
    return u;
}

void users_hush(struct users *u)
{
    if (u == NULL)
        return;
    pthread_mutex_lock(&u->lock);
    u->answers = NULL;
    pthread_cond_broadcast(&u->changed);
    pthread_mutex_unlock(&u->lock);
}

void users_close(struct users *u)
{
    if (u == NULL)
        return;
    users_hush(u);
    pthread_mutex_lock(&u->lock);
    wait_for_thread(u, false, PATIENCE);
    u->left_behind = u->busy;
    bool joins = !u->left_behind;
    pthread_t thread = u->thread;
    pthread_mutex_unlock(&u->lock);
    if (!joins) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    users_free(u);
}

/* --- The acceptor --- */

static struct user *set_of(struct users *u, uint32_t uid)
{
    return u->kept[siphash(u->seed, span_of(&uid, sizeof uid)) % USER_SETS];
}

/* NULL: it is neither root nor the server's user. */
static struct user *own_of(struct users *u, uint32_t uid)
{
    return uid == u->own[0].uid ? &u->own[0] : uid == u->own[1].uid ? &u->own[1] : NULL;
}

/* NULL: there is none, whatever its age. */
static struct user *entry_of(struct users *u, uint32_t uid)
{
    struct user *set = set_of(u, uid);

    for (struct user *entry = set; entry < set + USER_WAYS; entry++)
        if (entry->known && entry->uid == uid)
            return entry;
    return own_of(u, uid); /* which is in no set */
}

/* The user's own entry; or an empty one; or that of the least recently seen user. */
static struct user *entry_for(struct users *u, uint32_t uid)
{
    struct user *set = set_of(u, uid), *entry = entry_of(u, uid);

    if (entry != NULL)
        return entry;
    entry = set;
    for (struct user *other = set; other < set + USER_WAYS && entry->known; other++)
        if (!other->known || other->used < entry->used)
            entry = other;
    return entry;
}

/* NULL: it was not asked for, or all are. */
static struct question *question_of(struct users *u, bool open, uint32_t uid)
{
    for (struct question *q = u->questions; q < u->questions + USERS_ASKED_MAX; q++)
        if (q->open == open && (!open || q->uid == uid))
            return q;
    return NULL;
}

static void ask(struct users *u, struct question *q, uint32_t uid)
{
    *q = (struct question){.message = {.kind = LOOP_USER, .fd = -1},
                           .uid = uid,
                           .generation = u->generation,
                           .open = true};
    pthread_mutex_lock(&u->lock);
    STAILQ_INSERT_TAIL(&u->asked, q, next);
    pthread_cond_broadcast(&u->changed);
    pthread_mutex_unlock(&u->lock);
}

bool users_ask(struct users *u, uint32_t uid)
{
    if (question_of(u, true, uid) != NULL)
        return true;
    struct question *q = question_of(u, false, uid);
    if (q != NULL)
        ask(u, q, uid);
    return q != NULL;
}

const char *users_find(struct users *u, uint32_t uid, ao_time now)
{
    struct user *entry = entry_of(u, uid);

    if (entry == NULL || (now - entry->at >= USER_TRUSTED && own_of(u, uid) == NULL))
        return NULL;
    entry->used = now;
    if (now - entry->at >= USER_AGE)
        users_ask(u, uid);
    return entry->name;
}

bool users_ask_again(struct users *u, struct loop_message *message)
{
    struct question *q = ao_of(message, struct question, message);

    if (q->generation == u->generation)
        return false;
    struct user *own = own_of(u, q->uid);
    if (own != NULL && q->known) /* until there is a newer one */
        memcpy(own->name, q->name, sizeof own->name);
    ask(u, q, q->uid);
    return true;
}

const char *users_answered(struct users *u, struct loop_message *message, ao_time now,
                           uint32_t *uid)
{
    struct question *q = ao_of(message, struct question, message);

    q->open = false;
    *uid = q->uid;
    if (!q->known)
        return NULL;
    struct user *entry = entry_for(u, q->uid);
    *entry = (struct user){.uid = q->uid, .known = true, .at = now, .used = now};
    memcpy(entry->name, q->name, sizeof entry->name);
    return entry->name;
}

void users_forget(struct users *u)
{
    for (int i = 0; i < USERS_KEPT; i++)
        u->kept[i / USER_WAYS][i % USER_WAYS].known = false;
    u->generation++;
    ask_for_own(u);
}
