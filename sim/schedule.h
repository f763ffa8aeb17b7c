/* Which fiber runs, and the time.
 *
 * One fiber runs at a time, until it sleeps or is preempted at a point; then chance takes the next
 * of those that can run, or the one of the highest priority, as the seed says.  The clock goes on
 * by 1 us a switch, and leaps to the next time that somebody waits for when all sleep.  So a fiber
 * that loops without sleeping stands still for ever: the process is ended by its alarm. */
#ifndef ERGON_SIM_SCHEDULE_H
#define ERGON_SIM_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_NEVER UINT64_MAX
#define SIM_MS(n) ((uint64_t)(n)*1000000)

struct sim_fiber;

/* Whose fiber it is: what a power cut ends. */
enum sim_owner { SIM_WORLD, SIM_NODE };

/* How often fibers are preempted, and how long they stay away: by the stream SIM_SHAPE. */
void sim_schedule_shape(void);
/* Threads that are preempted often stay away for a short time, so that the server is not slow. */
void sim_schedule_mild(void);
/* In so many ns a thread does what takes it two or three steps, though it may be put aside at each.
 * What it wrote may have begun so long before. */
uint64_t sim_slack(void);

struct sim_fiber *sim_spawn(enum sim_owner owner, const char *name, void (*run)(void *arg),
                            void *arg);
/* At the first switch from that time on, `run` is called, on no fiber. */
void sim_at(uint64_t time, void (*run)(void));
/* Runs fibers until the first that was spawned has ended. */
void sim_run(void);
/* Ends all fibers of the owner where they stand.  On a fiber of another. */
void sim_drop(enum sim_owner owner);

uint64_t sim_now(void); /* ns since the world began */
const char *sim_fiber_name(void);
uint64_t sim_switches(void);

/* --- On a fiber --- */

struct sim_fiber *sim_self(void);
enum sim_owner sim_self_owner(void);
void sim_rename(const char *name);

/* Until sim_wake(), which is remembered if it came before, or until `until`.  May end early, so ask
 * again what was waited for. */
void sim_sleep(uint64_t until);
void sim_sleep_for(uint64_t ns); /* whatever wakes */
void sim_wake(struct sim_fiber *f);

/* Sleeps for an address, until somebody else wakes all that do. */
void sim_wait_for(const void *address, uint64_t until);
void sim_wake_all(const void *address);

bool sim_ended(const struct sim_fiber *f);
void sim_release(struct sim_fiber *f); /* one that has ended */

#endif
