/*
 * The ring: one producer, one consumer, each with a private copy of the other's index. The producer stages several
 * items and publishes them with one store of the tail; the consumer takes several and gives their slots back with one
 * store of the head.
 *
 * Holds: the consumer takes 1, 2, 3 … ITEMS: none lost, none twice, none overwritten, for every way to batch.
 *
 * mutant: TAIL_FIRST     the tail is published before the slot is filled
 * mutant: HEAD_FIRST     the slot is given back before it is read
 * mutant: STAGED_UNSEEN  the check for room forgets what is staged and not yet published
 *
 * step: H1 server/runtime/threads/ring.h ring_stage  load acquire
 * step: S1 server/runtime/threads/ring.h ring_stage  store relaxed
 * step: T0 server/runtime/threads/ring.h ring_staged  load relaxed own
 * step: T1 server/runtime/threads/ring.h ring_flush  store release
 * step: T2 server/runtime/threads/ring.h ring_ready  load acquire
 * step: S2 server/runtime/threads/ring.h ring_take  load relaxed
 * step: H0 server/runtime/threads/ring.h ring_release  load relaxed own
 * step: H2 server/runtime/threads/ring.h ring_release  store release
 */

#define CAPACITY 2
#define ITEMS    6

#define THREADS  2
#define PRODUCER 0
#define CONSUMER 1
#define CELLS    (CAPACITY + 2)
#define SLOT(i)  ((i) % CAPACITY)
#define TAIL     CAPACITY
#define HEAD     (CAPACITY + 1)

#include "tso.pml"

/* Indices run free, as in the code; here they stay below 256. */
proctype producer()
{
	byte staged, flushed, head_seen;

#ifdef STAGED_UNSEEN
#define USED (flushed - head_seen)
#else
#define USED (staged - head_seen)
#endif

	do
	:: flushed == ITEMS -> break
	:: staged < ITEMS ->
		if
		:: USED == CAPACITY -> head_seen = LOAD(HEAD) /* H1 */
		:: else
		fi;
		if
		:: USED < CAPACITY ->
#ifdef TAIL_FIRST
			STORE(PRODUCER, TAIL, staged + 1);
			flushed = staged + 1;
#endif
			STORE(PRODUCER, SLOT(staged), staged + 1); /* S1 */
			staged++
		:: else
		fi
	:: flushed != staged ->
		STORE(PRODUCER, TAIL, staged); /* T1 */
		flushed = staged
	od
}

proctype consumer()
{
	byte taken, released, tail_seen, item;
	do
	:: taken == ITEMS -> break
	:: taken < ITEMS ->
		if
		:: taken == tail_seen -> tail_seen = LOAD(TAIL) /* T2 */
		:: else
		fi;
		if
		:: taken != tail_seen ->
#ifdef HEAD_FIRST
			STORE(CONSUMER, HEAD, taken + 1);
			released = taken + 1;
#endif
			item = LOAD(SLOT(taken)); /* S2 */
			assert(item == taken + 1);
			taken++
		:: else
		fi
	:: released < taken ->
		STORE(CONSUMER, HEAD, taken); /* H2 */
		released = taken
	od
}

init
{
	atomic {
		run producer();
		run flusher(PRODUCER);
		run consumer();
		run flusher(CONSUMER)
	}
}
