/*
 * Sleep and wake of threads: one consumer with several inputs, a producer to each.
 *
 * Holds: whoever publishes before the consumer blocks, or while it blocks, ends its sleep (else the run ends with
 * the consumer blocked, which is an invalid end state); the eventfd is written at most once for each announced sleep.
 *
 * mutant: NO_CONSUMER_FENCE  the second look overtakes the announcement
 * mutant: NO_PRODUCER_FENCE  the look at the announcement overtakes the publication
 * mutant: NO_SECOND_LOOK     what came between the first look and the announcement stays there
 * mutant: NO_EXCHANGE        two producers see the same announcement and both write
 *
 * step: B1 server/runtime/idle.c block  call waker_announce
 * step: S1 server/runtime/threads/waker.c announce  store relaxed
 * step: S2 server/runtime/threads/waker.c announce  fence seq_cst
 * step: B2 server/runtime/idle.c block  call called
 * step: B3 server/runtime/idle.c block  call block_in_poller
 * step: B4 server/runtime/idle.c block  call waker_retract
 * step: S5 server/runtime/threads/waker.c waker_retract  store relaxed
 * step: T0 server/runtime/threads/ring.h ring_staged  load relaxed own
 * step: P1 server/runtime/threads/ring.h ring_flush  store release
 * step: L1 server/runtime/threads/lane.c lane_flush  call publish
 * step: L2 server/runtime/threads/lane.c lane_flush  call waker_notify
 * step: P2 server/runtime/threads/waker.c asleep  fence seq_cst
 * step: P3 server/runtime/threads/waker.c asleep  load relaxed
 * step: N1 server/runtime/threads/waker.c waker_notify  call asleep
 * step: P4 server/runtime/threads/waker.c waker_notify  exchange relaxed
 */

#define PRODUCERS 2
#define ITEMS     2 /* of each producer */

#define THREADS   (PRODUCERS + 1)
#define CONSUMER  PRODUCERS
#define CELLS     (PRODUCERS + 1)
#define TAIL(p)   (p)         /* published index of input p, written by producer p alone */
#define SLEEPING  PRODUCERS   /* the consumer's announcement */

#include "tso.pml"

byte eventfd;   /* counter of the kernel: a read takes all of it */
byte announced; /* sleeps announced so far */
byte written;   /* writes to the eventfd so far */

proctype producer(byte p)
{
	byte tail, was;
	do
	:: tail == ITEMS -> break
	:: tail < ITEMS ->
		tail++;
		STORE(p, TAIL(p), tail); /* P1 */
#ifndef NO_PRODUCER_FENCE
		FENCE(p); /* P2 */
#endif
		if
		:: LOAD(SLEEPING) == 1 -> /* P3 */
#ifdef NO_EXCHANGE
			was = 1;
			STORE(p, SLEEPING, 0);
#else
			exchange(p, SLEEPING, 0, was); /* P4 */
#endif
			if
			:: was == 1 -> atomic {
				eventfd++;
				written++;
				assert(written <= announced)
			}
			:: else
			fi
		:: else
		fi
	od
}

byte head[PRODUCERS]; /* the consumer's own */

#define WAITING(p) (LOAD(TAIL(p)) != head[p])

/* Looks at one input after the other, as the code does: the sum over all is no single moment. */
inline take_all()
{
	p = 0;
	do
	:: p == PRODUCERS -> break
	:: p < PRODUCERS -> d_step { taken = taken + (LOAD(TAIL(p)) - head[p]); head[p] = LOAD(TAIL(p)) }; p++
	od
}

inline look(found)
{
	found = false;
	p = 0;
	do
	:: p == PRODUCERS -> break
	:: p < PRODUCERS -> found = found || WAITING(p); p++
	od
}

proctype consumer()
{
	byte p, taken;
	bool found;
	do
	:: true ->
		take_all();
		if
		:: taken == PRODUCERS * ITEMS -> break
		:: else
		fi;
		announced++;
		STORE(CONSUMER, SLEEPING, 1); /* S1 */
#ifndef NO_CONSUMER_FENCE
		FENCE(CONSUMER); /* S2 */
#endif
#ifdef NO_SECOND_LOOK
		found = false;
#else
		look(found);
#endif
		if
		:: found
		:: !found -> atomic { eventfd > 0 -> eventfd = 0 }
		fi;
		STORE(CONSUMER, SLEEPING, 0) /* S5 */
	od
}

init
{
	atomic {
		byte t = 0;
		do
		:: t == PRODUCERS -> break
		:: t < PRODUCERS -> run producer(t); run flusher(t); t++
		od;
		run consumer();
		run flusher(CONSUMER)
	}
}
