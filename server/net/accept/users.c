#include "server/net/accept/users.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/runtime/thread.h"

enum {
    SPACE_LEAST = 1024,
    SPACE_MOST = 1 << 20, /* bytes of an entry of the system's; a group of thousands has less */
    PATIENCE = 1          /* seconds, at the end */
};

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
    bool known; /* else the entry is empty */
    ao_time at; /* when it was asked */
    char name[USER_NAME_MAX];
};

struct users {
    user_look_up *look_up;

    /* The acceptor's. */
    struct user kept[USERS_KEPT];
    uint32_t generation; /* one more whenever they were forgotten */
    struct question questions[USERS_ASKED_MAX];
    pthread_t thread;

    /* Both threads', under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct message_list *answers; /* NULL: nobody wants to know any more */
    STAILQ_HEAD(, question) asked;
    bool busy;        /* with a look-up */
    bool left_behind; /* by who closed it: the thread frees it */
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
    }
    bool frees = u->left_behind;
    pthread_cond_broadcast(&u->changed);
    pthread_mutex_unlock(&u->lock);
    if (frees)
        users_free(u);
    return NULL;
}

/* --- The acceptor --- */

struct users *users_open(struct message_list *answers, user_look_up *look_up)
{
    struct users *u = calloc(1, sizeof *u);

    if (u == NULL)
        return NULL;
    u->look_up = look_up;
    u->answers = answers;
    STAILQ_INIT(&u->asked);
    pthread_mutex_init(&u->lock, NULL);
    pthread_cond_init(&u->changed, NULL);
    int error = thread_start_undisturbed(&u->thread, thread_main, u);
    if (error == 0)
        return u;
    users_free(u);
    errno = error;
    return NULL;
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
    struct timespec end;

    if (u == NULL)
        return;
    users_hush(u);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE;
    pthread_mutex_lock(&u->lock);
    int error = 0;
    while (u->busy && error == 0)
        error = pthread_cond_timedwait(&u->changed, &u->lock, &end);
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

static struct user *entry_of(struct users *u, uint32_t uid)
{
    return &u->kept[uid % USERS_KEPT];
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

const char *users_find(struct users *u, uint32_t uid, ao_time now)
{
    const struct user *entry = entry_of(u, uid);

    if (entry->known && entry->uid == uid && now - entry->at < USER_AGE)
        return entry->name;
    if (question_of(u, true, uid) == NULL) {
        struct question *q = question_of(u, false, uid);
        assert(q != NULL); /* each has somebody who waits for it, and of these there are no more */
        ask(u, q, uid);
    }
    return NULL;
}

bool users_ask_again(struct users *u, struct loop_message *message)
{
    struct question *q = ao_of(message, struct question, message);

    if (q->generation == u->generation)
        return false;
    ask(u, q, q->uid);
    return true;
}

const char *users_answered(struct users *u, struct loop_message *message, ao_time now,
                           uint32_t *uid)
{
    struct question *q = ao_of(message, struct question, message);
    struct user *entry = entry_of(u, q->uid);

    q->open = false;
    *uid = q->uid;
    if (!q->known)
        return NULL;
    *entry = (struct user){.uid = q->uid, .known = true, .at = now};
    memcpy(entry->name, q->name, sizeof entry->name);
    return entry->name;
}

void users_forget(struct users *u)
{
    for (struct user *entry = u->kept; entry < u->kept + USERS_KEPT; entry++)
        entry->known = false;
    u->generation++;
}
