/* Actors: states with a name, "type/key", of a tenant; their messages are jobs (core/message.h), of
 * which one runs at a time, in order of arrival.
 *
 *     job_schedule() --> joins: its place in the mailbox
 *        behind others     WAITING, reason actor
 *        the head          goes on as any job, unless the actor is stopped, or an earlier attempt
 *                          has not returned; it stays the head through retries
 *     begins             the attempt gets the actor's state
 *     takes              it ended well: its changes become the actor's
 *     ended              it leaves its place, and the next is the head
 *
 * An actor is made by the first message to it.  It goes when it has been idle for as long as its
 * type says, unless it is stopped, stepped, or a job names it.  One of a durable type has a row in
 * the store, from its first change on: it only leaves memory then, and comes back by its name
 * (loads.h).  What changes it is seen when it is on disk (commits.h).
 *
 * A type with a method `step` is stepped while it is not stopped: the step is one more message,
 * which nobody sends, and which joins the mailbox again and again, or sleeps.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_ACTORS_H
#define ERGON_JOBS_ACTORS_H

#include "base/cells.h"
#include "base/slab.h"
#include "server/jobs/core/message.h"
#include "server/jobs/core/refusal.h"
#include "server/jobs/core/table.h"
#include "server/store/store.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/turn.h"

struct actor_watcher;
struct actor_write;
struct store_chunk;
struct jobs;
struct operation;
struct supervision_report;
struct task_sends;

struct actor_type {
    struct actors *actors;
    struct actor_policy policy;    /* of the latest offer */
    struct job_policy of_messages; /* likewise */
    struct method *step;           /* NULL: its actors are not stepped */
    struct ao timer;               /* sleeps until the first of the idle may go */
    struct actor *first, *last;    /* idle, by the time when that began */
    struct method *some;           /* of its methods; NULL: it has none */
    /* The one that was made before it: any thread, behind actors->shown_types. */
    const struct actor_type *shown_next;
    counter count, active, stopped; /* actors */
    counter failed;                 /* of those that are stopped: by a failure of a message */
    counter messages;               /* that have a place */
    struct span name, methods;      /* "cart"; "cart.", with which those of its methods begin */
    struct blob *row;               /* its policy, packed; NULL: it is not durable */
    bool unsaid;                    /* its latest offer leaves open how durable it is */
    bool unsaved;                   /* the store does not have that */
    bool removes;                   /* rows of it are being removed: leftovers.h */
    uint64_t removed;               /* so many were */
    struct store_chunk *leftovers;  /* a page of them is under way, and comes here; NULL: none is */
};

/* What an actor has that nothing happens to does not need. */
struct actor_more {
    struct actor *actor;
    struct job *head;             /* its turn has come; NULL: no message has a place */
    struct job_list waiting;      /* behind it */
    uint64_t bytes;               /* of the parameters of both */
    struct job *step;             /* open; NULL: none */
    struct actor_more *next_step; /* while `is_listed`: of those that want a step */
    ao_time step_delay;           /* while `wants_step` */
    bool wants_step, is_listed;
    bool is_active;                 /* as its type counts it */
    struct actor_watcher *watchers; /* watchers.h */
    struct actor_more *next_news;   /* while `has_news` */
    uint64_t told;                  /* while there are watchers: the version that they know */
    bool has_news;
    uint32_t out;        /* attempts that have not returned, but of methods that read */
    char *stopped;       /* why it is; malloc'ed; NULL: it is not */
    bool has_failed;     /* it is stopped by a failure of a message, in this process */
    uint64_t stopped_at; /* Unix ns */
    /* --- Of one that is durable --- */
    struct actor_write *turn, *last_turn; /* what turns changed that are not on disk, in order */
    size_t turn_bytes;                    /* of the states of these */
    uint32_t turns;                       /* how many they are */
    enum store_error doomed;              /* not STORE_OK: one of these could not be written */
    bool awaits_store;                    /* no turn begins before the next try */
    bool resets;                          /* its state goes when these are on disk */
    struct actor_write *act;              /* under way, of an operation; NULL: none */
    struct operation *ops; /* that wait for the load, or for these; the first is the oldest */
    struct job_list reads; /* that wait for the load */
    LIST_ENTRY(actor_more) by_again; /* while `again`: a load or a write that failed */
    bool again;
};

/* Where the state is.  Of an actor that is not durable it is always here. */
enum actor_residence {
    ACTOR_HERE,
    ACTOR_AWAY,   /* in the store, if it has one */
    ACTOR_COMES,  /* its load is under way */
    ACTOR_UNREAD, /* its load failed, and is tried again */
};

/* How it counts in memory: see residents.h. */
enum actor_charge { ACTOR_IS_TASK, ACTOR_IS_COPY, ACTOR_IS_FIXED };

struct actor {
    struct hash_link by_name;  /* first */
    struct actor *prev, *next; /* while `idle`: of its type */
    struct actor_type *type;
    struct tenant *tenant;
    struct actor_more *more; /* NULL: it sleeps, and has no step */
    /* See actor_state(). */
    union {
        struct blob *shared; /* while own_len is 0; NULL: it has no state */
        uint8_t *own;        /* a cell */
    } state;
    uint64_t version; /* of the state; 0: it never had one */
    ao_time since;    /* while `idle` */
    uint32_t schema;  /* of the state */
    uint32_t jobs;    /* that name it, and operations that wait at it */
    uint32_t weighed; /* bytes for which it counts, as `charge` says */
    bool idle : 1;
    bool failed : 1;    /* it has an entry in `failures` */
    bool reminded : 1;  /* it has one in `reminders` */
    bool has_row : 1;   /* the store has one */
    bool unsaved : 1;   /* durable: its row is not as it is */
    uint8_t charge : 2; /* enum actor_charge */
    uint8_t residence;  /* enum actor_residence */
    uint8_t own_len;    /* of a small state */
    uint8_t name_len;
    uint8_t name[];
};
_Static_assert(ACTOR_NAME_MAX <= UINT8_MAX, "name_len");
_Static_assert(sizeof(struct actor) == 96, "an actor with a short name takes 128 bytes");

/* With a name of so many bytes: whole lines of the processor's caches, since each call looks at all
 * of it. */
static inline size_t actor_size(size_t name_len)
{
    enum { LINE = 64 };
    return (sizeof(struct actor) + name_len + LINE - 1) / LINE * LINE;
}
_Static_assert((sizeof(struct actor) + ACTOR_NAME_MAX + 63) / 64 * 64 <= CELL_MOST,
               "it is in a cell");
_Static_assert(UINT8_MAX <= CELL_MOST, "so is a state of own_len");

/* A count of the rows of actors, up to the name at which it is: counts.h. */
struct count_walk {
    struct store_chunk *chunk; /* of the last page */
    uint8_t *at;               /* malloc'ed: what the name points into; NULL: none was passed */
    struct span type, key, tenant;
    uint64_t rows, counted; /* counted: `rows` of the counts when the walk ended */
    uint32_t tries;         /* pages that were asked for again */
    bool under_way, good;   /* good: it went through */
};

struct actor_counts {
    bool known;    /* `rows`, and those of the tenants */
    uint64_t rows; /* that the store has */
    struct hash_table tenants;
    struct count_walk first, audit;
};

/* What other threads show. */
struct actors_shown {
    counter resident, bytes;          /* in memory, and what they take */
    counter done, bad, failed;        /* turns; `bad`: with changes that were refused */
    counter loads, unread;            /* of states; and those that failed */
    counter passivated;               /* copies that left memory for others */
    counter deadlocks, last_deadlock; /* calls that were refused; Unix ms, 0: none was */
};

struct actors {
    struct jobs *jobs;
    struct hash_table by_name;
    struct cells cells;        /* of actors, and of states that are small */
    struct slab mores;         /* of all struct actor_more: each turn takes and gives one */
    struct actor_type **types; /* `type_count` of them, by name; none goes before the jobs do */
    uint32_t type_count;
    struct actor_more *steps; /* that are to be submitted, by next_step */
    struct actor_more *news;  /* whose watchers are to be answered, by next_news */
    uint64_t writes;          /* that turns began */
    size_t step_look;         /* buckets of `by_name` to be looked at: steps_offered() */
    size_t step_size;         /* that there were at the last look */
    bool submits;             /* a step of the actors' own is being submitted */
    bool started;             /* the store takes writes */
    bool of_modules;          /* modules offer types: these need no rows */
    LIST_HEAD(, actor_more) again;
    LIST_HEAD(, actor_write) awaiting;                /* what their turns joined: commits.h */
    LIST_HEAD(, task_sends) tasks_awaiting;           /* what they joined: task_sends.h */
    struct hash_table failures;                       /* of actors: failures.c */
    struct hash_table reminders;                      /* jobs, by their actors: reminders.c */
    struct supervision_report *reports, *last_report; /* that are to be sent to supervisors */
    uint64_t fixed_bytes;                             /* of those in memory that cannot leave it */
    const struct attempt_turn *settled; /* whose outcome is counted, until it has returned */
    /* The last type, for other threads: release where it is made, acquire where it is read. */
    _Atomic(const struct actor_type *) shown_types;
    struct actors_shown shown;
    struct jobs_channel *module_calls; /* module_calls.h */
    struct actor_counts counts;
};

static inline struct span actor_name(const struct actor *a)
{
    return span_of(a->name, a->name_len);
}

/* Is its state kept in the store? */
static inline bool actor_is_durable(const struct actor *a)
{
    return a->type->policy.durable != DURABLE_NONE;
}

struct actor_state {
    struct span raw;     /* MessagePack; empty: there is none */
    struct blob *shared; /* has it; NULL: the actor has, until it gets another */
};

static inline struct actor_state actor_state(const struct actor *a)
{
    struct blob *b = a->own_len > 0 ? NULL : a->state.shared;
    struct span own = span_of(a->state.own, a->own_len);
    return (struct actor_state){.raw = b ? blob_bytes(b) : own, .shared = b};
}

/* "42" of "cart/42". */
static inline struct span actor_key(const struct actor *a)
{
    return span_behind(actor_name(a), a->type->name.len + 1);
}

/* Is there anything of it but its name, which messages that are kept refer to? */
bool actor_is_there(const struct actor *a);

enum actor_stage { ACTOR_ACTIVE, ACTOR_SLEEPING, ACTOR_STOPPED };
enum actor_stage actor_stage(const struct actor *a);
extern const char *const actor_stage_names[];

/* Makes room for so many bytes of an actor of this tenant, if there is too little, from copies that
 * are idle.  False: BUSY, and a text. */
bool actors_make_room(struct actors *actors, const struct tenant *tenant, size_t bytes,
                      struct refusal *why);
/* Brings those in memory below actors.bytes, as far as there is time.  True: nothing is left to do.
 */
bool actors_trim(struct actors *actors);
/* `found`, or, where that is NULL, one that is made of the rest; it goes again by actor_settle().
 * NULL: MEMORY, and a text.  `room`: BUSY, too, if it has to come into memory and there is no room.
 */
struct actor *actor_get(struct actor *found, struct actor_type *type, struct tenant *tenant,
                        struct span name, bool room, struct refusal *why);
/* Likewise, of a job that is read back; `hash`: of actor_hash().  NULL without memory. */
struct actor *actor_recovered(struct actors *actors, struct actor_type *type, struct tenant *tenant,
                              struct span name, uint64_t hash);
/* Its extras, made if there are none; NULL without memory. */
struct actor_more *actor_more(struct actor *a);
void actor_give_more(struct actor *a); /* it has some, and they are not needed any more */
/* Something of it has changed: whether it is idle, or goes, and what it weighs. */
void actor_settle(struct actor *a);
/* One whose version has changed while it is watched (watchers.h); actor_settle() is to follow.
 * NULL: there is none left. */
struct actor *actors_next_news(struct actors *actors);
/* No job names it, and it has no extras: it goes, with its state. */
void actor_forget(struct actor *a);
/* Sets its state, a reference that becomes the actor's; NULL: it has none from now on.  The bytes
 * of a small one are copied, since a blob takes more, and is another thread's malloc. */
void actor_set_state(struct actor *a, struct blob *state, uint32_t schema);

/* The message has no place in the mailbox any more. */
void actor_leave(struct actor *a, struct job *job);
/* Of a type's timer, which lets idle actors go; it sleeps until the first of them may. */
extern const struct ao_class actors_idle_class;

/* --- The hooks (messages.c) --- */

void messages_hook(struct actors *actors); /* set-up */
void messages_end(struct actors *actors);  /* jobs name no actor any more */
#endif
