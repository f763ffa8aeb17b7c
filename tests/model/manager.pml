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
		STORE(e, DONE(e), done);
#ifndef NO_EXECUTOR_FENCE
		FENCE(e);
#endif
		if
		:: LOAD(STARVED) == 1 ->
			exchange(e, STARVED, 0, was);
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
		:: FREE(e) -> break
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
		STORE(MANAGER, STARVED, 1);
#ifndef NO_MANAGER_FENCE
		FENCE(MANAGER);
#endif
#ifndef NO_SECOND_SCAN
		scan(e);
#endif
		if
		:: e < EXECUTORS -> STORE(MANAGER, STARVED, 0); goto give
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
