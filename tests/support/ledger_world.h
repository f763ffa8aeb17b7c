/* A ledger on the virtual clock, with a manager that the test plays: attempts run for as long as
 * the test says, and end as it says.
 *
 *     struct ledger_world w;
 *     ledger_world_init(&w);
 *     w.room[1] = 4;
 *     ledger_world_open(&w);
 *     uint64_t id = ledger_world_submit(&w, &order);
 *     ledger_world_settle(&w);
 *     ledger_world_finish(&w, id, "result");
 *     trace_expect(&w.v, ...);
 *     ledger_world_fini(&w);
 *
 * The narrative holds the lines of kept tasks.  Ids in it count from 1. */
#ifndef ERGON_TESTS_LEDGER_WORLD_H
#define ERGON_TESTS_LEDGER_WORLD_H

#include "server/ledger/ledger_parts.h"
#include "tests/support/memory_store.h"
#include "tests/support/virtual.h"

struct ledger_world;

/* An attempt that is out. */
struct world_run {
    struct world_run *next, *prev;
    struct ledger_world *world;
    struct attempt_spec run;
    struct ao timer; /* sleeps until it ends by itself */
    enum attempt_stage stage;
    bool flagged; /* cancelled or late */
};

struct ledger_world {
    struct virtual v;
    struct activator *manager, *loop;
    struct registry *registry;
    struct ledger_options options; /* change it before ledger_world_open() */
    struct ledger *ledger;
    struct ledger_door *door;
    struct store *store; /* NULL: none; of memory_store.h */
    struct job_source source;
    struct ao pump;
    uint32_t room[PICK_KINDS]; /* attempts that may be out at once */
    uint32_t out[PICK_KINDS];
    struct world_run *runs, *runs_last; /* in order of their giving */
    bool stubborn;                      /* handlers do not obey their flag */
    ao_time lasts; /* an attempt ends well by itself after so long; AO_NEVER: when the test says */
    /* Told of each attempt as it begins, and may set `lasts`; NULL. */
    void (*begun)(void *arg, struct world_run *r, ao_time *lasts);
    void (*over)(void *arg, struct world_run *r); /* as it ends by itself; NULL */
    void *arg;
    struct ask *asks[4096]; /* that came back, in order */
    uint32_t answered, pushed;
    uint64_t first_id;
    bool quiet;
    void (*record)(void *arg, const char *line);
};

/* Methods: "work" (blocking), "step" (stepped); room for one attempt of each. */
void ledger_world_init(struct ledger_world *w);
void ledger_world_keep_store(struct ledger_world *w); /* with a store; before the opening */
void ledger_world_open(struct ledger_world *w);
void ledger_world_fini(struct ledger_world *w);
/* The process dies, with what was not committed; the next opens the same store. */
void ledger_world_crash(struct ledger_world *w);
void ledger_world_restart(struct ledger_world *w); /* stops in order first */

/* Kept in memory only. */
struct order world_order(const char *method);
uint64_t ledger_world_submit(struct ledger_world *w,
                             const struct order *o);            /* through its insides */
struct entry *world_entry(struct ledger_world *w, uint64_t id); /* NULL: forgotten */
enum ledger_state world_state(struct ledger_world *w, uint64_t id);
enum ledger_reason world_reason(struct ledger_world *w, uint64_t id);

/* All that can happen at this moment happens; or all until so much later. */
void ledger_world_settle(struct ledger_world *w);
void ledger_world_pass(struct ledger_world *w, ao_time duration);

/* The attempt of a task that began last; NULL: none is out. */
struct world_run *world_run_of(struct ledger_world *w, uint64_t id);
void world_finish(struct world_run *r, const char *result);
void world_fail(struct world_run *r, const char *code, const char *text);
void world_again(struct world_run *r, ao_time after);
void world_return(struct world_run *r, struct attempt_end *end); /* owner and attempt are filled */

/* The insides of the manager that is played. */
extern const struct ao_class ledger_pump_class;
void world_drop_runs(struct ledger_world *w); /* what is out never returns */

/* Through the door.  `orders` and `ids` are borrowed until the answer. */
struct ask *world_ask(struct ledger_world *w, enum ask_verb verb);
void world_give(struct ledger_world *w, struct ask *a);
bool world_answered(const struct ledger_world *w, const struct ask *a);

#endif
