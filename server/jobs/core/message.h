/* Messages: jobs that belong to an actor (server/jobs/actors/), and what the other rooms of the
 * jobs call where such a job goes on.  The rooms ask job_message() and know nothing of actors.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_MESSAGE_H
#define ERGON_JOBS_MESSAGE_H

#include "proto/errors.h"
#include "server/jobs/core/job.h"

struct actor;
struct attempt_turn;
struct method;
struct refusal;
struct store_op;

/* Behind the job, before its body. */
struct message {
    struct actor *actor;        /* a reference; NULL: not yet */
    struct attempt_turn *turns; /* of its attempts that are out, the newest first */
    struct job_policy *policy;  /* its type's; a job with extras has a policy of its own */
    /* Each time of a job that is quiet has a number of its own, which its attempts share; 0: it is
     * the first time. */
    uint32_t round;
    bool placed : 1;      /* it has a place in the mailbox */
    bool reads : 1;       /* it goes through no mailbox */
    bool calls : 1;       /* somebody waits for its result */
    bool given : 1;       /* the newest of `turns` is of an attempt that may be undone */
    bool writes : 1;      /* its last turn has changes that are not on disk yet */
    bool refused : 1;     /* the store refused them: its row is written without them */
    bool is_step : 1;     /* nobody sent it */
    bool is_reminder : 1; /* struct reminder is behind it */
    bool is_named : 1;    /* of a reminder: it is found by its name */
    bool withdrawn : 1;   /* of a reminder: a turn forgets it, which is not on disk yet */
    bool row_held : 1;    /* of a reminder: no row of its own is written, see reminders_write() */
    bool settles : 1;     /* its next attempt begins on a state that is on disk */
    bool supervised : 1;  /* what follows from its failure has followed */
    /* It is a step, or was sent without options, of which it has no row then: its timeout and its
     * retries are those that its type has when an attempt begins. */
    bool follows : 1;
};
_Static_assert(sizeof(struct message) <= JOB_BODY_STEP, "job_tail() is behind it");

/* What a reminder has beside; its name is behind its parameters. */
struct reminder {
    struct hash_link by_actor; /* first; while `is_named` */
    ao_time every;             /* ns from one time to the next; 0: it comes once */
    ao_time fired;             /* when it was due last; 0: never */
};
_Static_assert(sizeof(struct reminder) <= JOB_BODY_STEP, "job_tail() is behind it");

/* Lines of the processor's caches of an actor that each message looks at. */
enum { MESSAGE_ACTOR_LINES = 2 };

/* Where a body that is in the job's cell begins. */
static inline uint8_t *job_tail(const struct job *job)
{
    const struct message *m = (const struct message *)(const void *)(job + 1);
    size_t steps = job->is_message ? 1u + m->is_reminder : 0;
    return (uint8_t *)(uintptr_t)(job + 1) + steps * JOB_BODY_STEP;
}

/* NULL: it is no message. */
static inline struct message *job_message(const struct job *job)
{
    return job->is_message ? (struct message *)(uintptr_t)(job + 1) : NULL;
}

/* Why a message waits behind others: `actor`, or `stopped`. */
enum job_reason message_reason(const struct job *job);
/* NULL: it is no reminder. */
static inline struct reminder *job_reminder(const struct job *job)
{
    struct message *m = job_message(job);
    return m && m->is_reminder ? (struct reminder *)(uintptr_t)((uint8_t *)m + JOB_BODY_STEP)
                               : NULL;
}

/* Empty: it is no reminder. */
static inline struct span job_reminder_name(const struct job *job)
{
    return job_reminder(job) ? span_of(job->body + job->params_len, job->body_len - job->params_len)
                             : (struct span){0};
}

/* The name of the actor of a message, which lasts as long as that. */
struct span message_actor(const struct job *job);

/* A job that runs again and again: a step, or a reminder with `every`.  Of its attempts only those
 * are noted that failed. */
static inline bool job_is_quiet(const struct job *job)
{
    const struct reminder *r = job_reminder(job);
    return job->is_message && (job_message(job)->is_step || (r && r->every > 0));
}

/* Is its end written in one group with what its last attempt changed or sent? */
static inline bool job_writes_more(const struct job *job)
{
    return job->is_message ? job_message(job)->writes : job->more && job->more->sent;
}

/* What became of the changes of an attempt that ended well. */
enum message_verdict {
    MESSAGE_ENDS,    /* they are the actor's, and the job is done */
    MESSAGE_GOES_ON, /* likewise, but the job was sent on to its next attempt */
    MESSAGE_BAD,     /* nothing has changed, and the attempt has failed */
    MESSAGE_VOID     /* nothing has changed, and the attempt counts for nothing */
};

/* Whether the row of a message can be pushed now. */
enum message_write { MESSAGE_WRITE, MESSAGE_WRITE_LATER, MESSAGE_WRITE_NO_MEMORY };

/* Where a message goes on.  `arg` comes first. */
struct message_hooks {
    void *arg;
    /* The actor of this name, within which keys of messages count; NULL: it has none yet. */
    const void *(*find)(void *arg, struct span tenant, struct span name);
    /* A message of this spec is submitted soon: its actor is brought near.  Called twice, with
     * other work in between: what finds the actor comes first. */
    void (*nears)(void *arg, struct span tenant, struct job_spec *spec);
    /* Do the spec's method, which is `m`, or NULL, its actor and its durability fit each other?
     * Else BAD_PARAMS or NO_METHOD, and a text. */
    enum ergon_error (*fits)(void *arg, const struct method *m, const struct job_spec *spec,
                             char *text, size_t size);
    /* How durable a message of this spec is: as it says, or as its actor's type. */
    uint8_t (*level)(void *arg, const struct job_spec *spec);
    /* It was made of this spec.  Not ERGON_OK, and a text: it may not be. */
    enum ergon_error (*made)(void *arg, struct job *job, const struct job_spec *spec, char *text,
                             size_t size);
    /* It is due.  True: it can be queued.  False: its state says what it waits for, or it has
     * ended. */
    bool (*joins)(void *arg, struct job *job);
    /* An attempt is to be given: what it has beside its parameters; NULL without memory. */
    struct attempt_turn *(*begins)(void *arg, struct job *job);
    /* That attempt never begins. */
    void (*undone)(void *arg, struct job *job);
    /* The current attempt has returned, and was neither lost nor cancelled.  False: it counts for
     * nothing, since the state that it began with is not on disk; so the message goes again, at no
     * cost of a retry.  TURN is NULL where the attempt is given up. */
    bool (*counts)(void *arg, struct job *job, const struct attempt_turn *turn, bool failed);
    /* The current attempt, of a message, or of a task that submits something, ended well.
     * MESSAGE_BAD: `why` is filled. */
    enum message_verdict (*takes)(void *arg, struct job *job, struct attempt_turn *turn,
                                  struct refusal *why);
    /* job_writes_more(), and its end is to be written: the group to which that is added.  LATER:
     * the row is asked for again (journal_write()) when it can be. */
    enum message_write (*writes)(void *arg, struct job *job, struct store_op **group);
    /* job_writes_more(), and its row is lost: the job ends when its changes are on disk. */
    void (*writes_alone)(void *arg, struct job *job);
    /* It has failed for good, by this error, and its history says so.  True: it goes on. */
    bool (*gives_up)(void *arg, struct job *job, const char *code, const char *error);
    /* It has failed for good, and ends by that: nothing of its end has been pushed to the store. */
    void (*gave_up)(void *arg, struct job *job);
    /* An attempt has returned, whether it counts or not, and was settled. */
    void (*back)(void *arg, struct job *job, struct attempt_turn *turn);
    /* Everybody may see that it has ended. */
    void (*ended)(void *arg, struct job *job);
    /* It is about to be freed; of a task, too. */
    void (*forgotten)(void *arg, struct job *job);
    /* It was read back, and made of this spec; `as_type`: without a row of options.  False without
     * memory. */
    bool (*recovered)(void *arg, struct job *job, const struct job_spec *spec, bool as_type);
    /* It was open, and goes on soon.  `begun`: it has its place before all others, since its
     * attempts had begun. */
    void (*resumes)(void *arg, struct job *job, bool begun);
};

#endif
