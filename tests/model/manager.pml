/*
 * The manager's case: its scan saw every executor full while tasks are still queued; an executor becomes free; the
 * manager must not sleep. Completion counters are plain published stores; the manager says by `starved` that it wants
 * to hear of the next one.
 *
 * Holds: every task is run (else the run ends with the manager asleep on a queued task beside a free executor, an
 * invalid end state); no executor is ever given more than its bound.
 *
 * mutant: NO_MANAGER_FENCE   the second scan overtakes the flag
 * mutant: NO_EXECUTOR_FENCE  the look at the flag overtakes the completion
 * mutant: NO_SECOND_SCAN     a completion between the scan and the flag is not seen
 *
 * step: F1 server/tasks/executors/executor.c executor_outstanding  load acquire
 * step: F2 server/tasks/executors/executor.c executor_outstanding  load relaxed own
 * step: M0 server/tasks/manager/manager.c give_or_wait  call give_all
 * step: M1 server/tasks/manager/manager.c give_or_wait  call waker_announce
 * step: M2 server/tasks/manager/manager.c give_or_wait  call give_all
 * step: M3 server/tasks/manager/manager.c give_or_wait  call waker_retract
 * step: S1 server/runtime/threads/waker.c announce  store relaxed
 * step: S2 server/runtime/threads/waker.c announce  fence seq_cst
 * step: S5 server/runtime/threads/waker.c waker_retract  store relaxed
 * step: E0 server/tasks/executors/executor.c executor_publish  load relaxed own
 * step: E1 server/tasks/executors/executor.c executor_publish  store release
 * step: E2 server/tasks/executors/executor.c executor_publish  call manager_on_capacity
 * step: E3 server/tasks/manager/manager_inbox.c tell_of_room  call waker_notify
 * step: P2 server/runtime/threads/waker.c asleep  fence seq_cst
 * step: P3 server/runtime/threads/waker.c asleep  load relaxed
 * step: N1 server/runtime/threads/waker.c waker_notify  call asleep
 * step: P4 server/runtime/threads/waker.c waker_notify  exchange relaxed
 */

#define EXECUTORS 2
#define BOUND     1
#define TASKS     4

#define THREADS   (EXECUTORS + 1)
#define MANAGER   EXECUTORS
#define CELLS     (2 * EXECUTORS + 1)
#define GIVEN(e)  (e)             /* tail of the ring to executor e */
#define DONE(e)   (EXECUTORS + e) /* completions of executor e */
#define STARVED   (2 * EXECUTORS)

#include "tso.pml"

byte wakes; /* wake-ups on their way to the manager; that none of them is lost is the matter of wake.pml */
bool over;  /* nothing is queued any more: the executors may end */

byte given[EXECUTORS]; /* the manager's own */

#define FREE(e) ((given[e] - LOAD(DONE(e))) < BOUND)

proctype executor(byte e)
{
	byte done, was;
	do
	:: LOAD(GIVEN(e)) != done ->
		assert(LOAD(GIVEN(e)) - done <= BOUND);
		done++;
		STORE(e, DONE(e), done); /* E1 */
#ifndef NO_EXECUTOR_FENCE
		FENCE(e); /* P2 */
#endif
		if
		:: LOAD(STARVED) == 1 -> /* P3 */
			exchange(e, STARVED, 0, was); /* P4 */
			if
			:: was == 1 -> wakes++
			:: else
			fi
		:: else
		fi
	:: over && LOAD(GIVEN(e)) == done -> break
	od
}

/* The first free executor of one scan, one counter after the other; EXECUTORS when all look full. */
inline scan(e)
{
	e = 0;
	do
	:: e == EXECUTORS -> break
	:: e < EXECUTORS ->
		if
		:: FREE(e) -> break /* F1 */
		:: else -> e++
		fi
	od
}

proctype manager()
{
	byte queued = TASKS, e;
	do
	:: queued == 0 -> break
	:: queued > 0 ->
		scan(e);
		if
		:: e < EXECUTORS -> goto give
		:: else
		fi;
		STORE(MANAGER, STARVED, 1); /* S1 */
#ifndef NO_MANAGER_FENCE
		FENCE(MANAGER); /* S2 */
#endif
#ifndef NO_SECOND_SCAN
		scan(e);
#endif
		if
		:: e < EXECUTORS -> STORE(MANAGER, STARVED, 0); goto give /* S5 */
		:: else -> atomic { wakes > 0 -> wakes = 0 }; goto next
		fi;
give:
		given[e]++;
		queued--;
		STORE(MANAGER, GIVEN(e), given[e]);
next:
		skip
	od;
	FENCE(MANAGER);
	over = true
}

init
{
	atomic {
		byte t = 0;
		do
		:: t == EXECUTORS -> break
		:: t < EXECUTORS -> run executor(t); run flusher(t); t++
		od;
		run manager();
		run flusher(MANAGER)
	}
}
