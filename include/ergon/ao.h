/* Active objects: objects that are active on their own account.
 *
 * An active object has a `step`: a short piece of work that never blocks, leaves the object
 * consistent, and returns a verdict.  An activator (<ergon/activator.h>) steps its objects one
 * after the other, round after round, on one thread; so all of them share one stack, and none of
 * them needs a lock.
 *
 *      activate             verdict AO_PARK
 *   INACTIVE --> ACTIVE ------------------> SLEEPING      any --AO_FAULT--> FAULTED
 *      ^           | ^                         |          FAULTED --ao_reset--> INACTIVE
 *      |  AO_DONE  | |   wake, or the deadline |
 *      +-----------+ +-------------------------+
 *
 * Thread: unless it says "any thread", a function is called on the thread of the object's
 * activator.  Errors: functions that can refuse return 0 or a negative enum ao_error; a refusal
 * changes nothing.  Whoever breaks a contract of this or of the other headers of the runtime is
 * told so on stderr, and the process aborts.  Memory: the object belongs to who declared it and
 * must stand still until ao_fini(), or until `retired` was called. */
#ifndef ERGON_AO_H
#define ERGON_AO_H

#include <assert.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct activator;
struct ao;
struct ao_wait;

typedef uint64_t ao_time; /* nanoseconds of the activator's clock, which only goes forward */
#define AO_NEVER UINT64_MAX
#define AO_US(n) ((ao_time)(n)*1000u)
#define AO_MS(n) ((ao_time)(n)*1000000u)
#define AO_S(n)  ((ao_time)(n)*1000000000u)

enum ao_state {
    AO_STATE_INACTIVE, /* in no list; activate() makes it active */
    AO_STATE_ACTIVE,   /* in the dispatcher's list; stepped once a round */
    AO_STATE_SLEEPING, /* in the timer, or among those without a deadline; a wake or it ends it */
    AO_STATE_FAULTED   /* final until the owner calls ao_reset() */
};

enum ao_verdict {
    AO_AGAIN, /* stay active: step me in the next round too */
    AO_DONE,  /* nothing to do: inactive until activated */
    AO_PARK,  /* sleep until woken, or until the deadline that ao_sleep_for() set in this step */
    AO_FAULT  /* faulted; ao_fault() has said why */
};

/* Why the object is being stepped: bits, see ao_why(). */
enum ao_why { AO_WHY_ACTIVATED = 1, AO_WHY_WOKEN = 2, AO_WHY_DUE = 4, AO_WHY_MESSAGE = 8 };

enum ao_error {
    AO_E_FAULTED = -1,  /* the object is faulted */
    AO_E_SLEEPING = -2, /* it sleeps: only a wake or its deadline ends that */
    AO_E_TIMED = -3,    /* it stands in the timer already */
    AO_E_CLOSED = -4,   /* the activator, or the thing waited for, is closed */
    AO_E_FULL = -5,     /* a bound is reached */
    AO_E_MEMORY = -6,
    AO_E_STATE = -7 /* not in a state in which this may be asked */
};
const char *ao_error_text(int error); /* constant text */

/* What other threads may post; the bits of the control inbox.  A message activates an inactive
 * object and wakes a sleeping one. */
enum ao_post {
    AO_POST_ACTIVATE = 1,
    AO_POST_DEACTIVATE = 2,
    AO_POST_WAKE = 4,
    AO_POST_UNBLOCK = 8,
    AO_POST_MESSAGE = 16
};

/* What all objects of one kind have in common.  All callbacks run on the home thread.  Each
 * of them may be NULL, except `step`. */
struct ao_class {
    const char *name; /* constant; appears in logs, traces, the watchdog's report */
    /* What in particular, where many classes share a name and a step (tasks: the method); constant;
     * NULL: nothing more.  In logs and the watchdog's report. */
    const char *detail;
    enum ao_verdict (*step)(struct ao *self);
    /* The owner learns of a fault; `text` is valid during the call.  The object is already in
     * FAULTED. */
    void (*faulted)(struct ao *self, int code, const char *text);
    /* A request from another thread was refused. */
    void (*refused)(struct ao *self, enum ao_post post, int error);
    /* Last call ever, after ao_retire(), once no inbox entry and no handle refers to the object:
     * free it here. */
    void (*retired)(struct ao *self);
};

/* The header of every active object; embed it.  Fields are private to the runtime. */
struct ao {
    struct ao *prev; /* dispatcher list, timer slot, or those that sleep without a deadline */
    struct ao *next;
    const struct ao_class *cls;
    struct activator *home;
    ao_time due;              /* valid while it stands in the timer */
    struct ao_handle *handle; /* what other threads post through; NULL until one is wanted */
    uint32_t id;              /* its name in traces; 0 when its activator writes none */
    uint8_t state;            /* enum ao_state */
    uint8_t why;              /* enum ao_why, collected until the next step */
    uint8_t tokens;           /* unblocks that came before their block; 0 or 1 */
    uint8_t flags;            /* private */
    struct ao_wait *waits;    /* what it waits for; NULL when it only sleeps */
};
static_assert(sizeof(struct ao) <= 64, "a million sleeping objects is a normal day");

#define ao_of(member_ptr, type, member) ((type *)((char *)(member_ptr)-offsetof(type, member)))

/* A new object, inactive, at home on `home`.  Any thread, before others know it.  The class has a
 * name and a step. */
void ao_init(struct ao *ao, const struct ao_class *cls, struct activator *home);

/* Ends the use of an object that is inactive or faulted; its handle answers AO_E_CLOSED from now
 * on. The memory stays its owner's.  Not from within its own step, and of an object that was
 * retired not before its `retired` is called. */
void ao_fini(struct ao *ao);

/* INACTIVE -> ACTIVE; of an active object a no-op, but in its own step it turns the verdict AO_DONE
 * into AO_AGAIN.  AO_E_FAULTED, AO_E_SLEEPING, AO_E_CLOSED. */
int ao_activate(struct ao *ao);

/* -> INACTIVE from active (also from within its own step, where the verdict is then ignored) or
 * sleeping (the sleep and the wait are cancelled); of an inactive object a no-op.  AO_E_FAULTED. */
int ao_deactivate(struct ao *ao);

/* Ends a sleep; of an object that does not sleep a no-op.  In the object's own step it cancels the
 * AO_PARK of that step, unless ao_sleep_for(), ao_sleep_until() or ao_block() comes after it: they
 * begin a new sleep. */
void ao_wake(struct ao *ao);

/* Sets the deadline of the sleep that the verdict AO_PARK of this step enters (another verdict
 * forgets it); or, from outside a step, puts an inactive or active object to sleep now.  AO_NEVER
 * is a sleep until woken.  The duration counts from the call, so no sleep is shorter.
 * AO_E_SLEEPING, AO_E_FAULTED, AO_E_CLOSED; AO_E_TIMED: this step has set a deadline already. */
int ao_sleep_for(struct ao *ao, ao_time duration);
int ao_sleep_until(struct ao *ao, ao_time deadline);

/* Pair one to one with ao_unblock() in either order.  ao_block() is called in a step of the
 * object: true means "park now" (return AO_PARK), false that an unblock came first and its token is
 * used up. */
bool ao_block(struct ao *self);
void ao_unblock(struct ao *ao);

/* Called in a step before `return AO_FAULT`: formats at most 200 bytes of text.  Logged, given to
 * cls->faulted. */
enum ao_verdict ao_fault(struct ao *self, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* FAULTED -> INACTIVE.  AO_E_STATE when it is not faulted. */
int ao_reset(struct ao *ao);

/* Deactivates for good; `retired` is called at the end of a round, never inside a step of the
 * object. */
void ao_retire(struct ao *ao);

enum ao_state ao_state(const struct ao *ao);
unsigned ao_why(const struct ao *self); /* bits of enum ao_why; during a step */
struct ao *ao_current(void);            /* the object being stepped on this thread, or NULL */
ao_time ao_now(const struct ao *ao);    /* its activator's time, as of this round */

/* --- From other threads ---
 *
 * A foreign thread holds a counted handle, never a bare pointer.  The handle outlives the object:
 * posting to a retired object, or one whose activator was closed, is a no-op that returns
 * AO_E_CLOSED. An object has one handle; each ao_handle_new() counts one more holder of it. */
struct ao_handle;

/* Home thread.  One reference for the caller; NULL without memory, or when the object is retired.
 */
struct ao_handle *ao_handle_new(struct ao *ao);

/* Any thread that has a reference: one more, and one less.  The last frees the handle. */
struct ao_handle *ao_handle_ref(struct ao_handle *handle);
void ao_handle_unref(struct ao_handle *handle);

/* Any thread, never blocks: puts the request into the activator's control inbox and wakes it if it
 * sleeps.  Several requests for one object before it is served count as one of each kind; they are
 * served in the order of enum ao_post.  `post` is one or more of its bits.  0 or AO_E_CLOSED; what
 * the object itself refuses later goes to cls->refused and the log.  The handle is borrowed. */
int ao_post(struct ao_handle *handle, enum ao_post post);

#ifdef __cplusplus
}
#endif

#endif
