/* Decides which fiber runs, and what time it is.
 *
 * One fiber runs at a time, until it sleeps or is preempted at a point.  The next fiber is one of
 * those that can run, by chance or by priority, depending on the seed.  The clock advances by 1 us
 * a switch.  When all fibers sleep, it leaps to the next time for which one waits.  So the clock
 * stops while a fiber loops without sleeping, and an alarm ends the process. */
#ifndef ERGON_SIM_SCHEDULE_H
#define ERGON_SIM_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_NEVER UINT64_MAX
#define SIM_MS(n) ((uint64_t)(n)*1000000)

struct sim_fiber;

/* The owner of a fiber.  The death of a node ends its fibers: those of the n-th are SIM_NODE + n.
 */
enum { SIM_NODES = 4 };
enum sim_owner { SIM_WORLD, SIM_NODE, SIM_OWNERS = SIM_NODE + SIM_NODES };

/* Draws from SIM_SHAPE how often fibers are preempted, and for how long. */
void sim_schedule_shape(void);
/* Shortens the sleep of fibers that are preempted often, so that the server is not slow. */
void sim_schedule_mild(void);
/* Returns the most ns that a thread needs for two or three steps if it is preempted at each.  What
 * it wrote may have begun so much earlier. */
uint64_t sim_slack(void);

struct sim_fiber *sim_spawn(enum sim_owner owner, const char *name, void (*run)(void *arg),
                            void *arg);
/* Calls `run` at the first switch from that time on, outside of all fibers. */
void sim_at(uint64_t time, void (*run)(void));
/* Runs fibers until the fiber that was spawned first has ended. */
void sim_run(void);
/* Ends all fibers of the owner at once.  Call it on a fiber of another owner. */
void sim_drop(enum sim_owner owner);

uint64_t sim_now(void); /* ns since the world began */
const char *sim_fiber_name(void);
uint64_t sim_switches(void);

/* --- On a fiber --- */

struct sim_fiber *sim_self(void);
enum sim_owner sim_self_owner(void);
void sim_rename(const char *name);

/* Sleeps until sim_wake(), which is remembered if it came before, or until that time.  May return
 * early, so the caller checks again what it waits for. */
void sim_sleep(uint64_t until);
void sim_sleep_for(uint64_t ns); /* never returns early */
void sim_wake(struct sim_fiber *f);

/* Sleeps until sim_wake_all() of the same address, or until that time.  May return early. */
void sim_wait_for(const void *address, uint64_t until);
void sim_wake_all(const void *address);

bool sim_ended(const struct sim_fiber *f);
void sim_release(struct sim_fiber *f); /* which has ended */

#endif
