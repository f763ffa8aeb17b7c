/*
 * Control inbox of an activator: any thread ORs request bits into an object's word; whoever turned it from 0 pushes the
 * object on a stack that has many producers, and wakes the owner. The owner takes the whole stack at once, and clears
 * an object's bits only when it has unlinked it.
 *
 * Holds: every request reaches the owner once; an object stands in the inbox at most once; no wake-up is lost.
 *
 * mutant: EARLY_CLEAR        bits cleared before the object is unlinked: it is pushed again while it still stands there
 * mutant: ALWAYS_PUSH        a second request pushes again what already stands in the inbox
 * mutant: NO_SECOND_LOOK     a push between the take and the announcement is not seen
 * mutant: NO_CONSUMER_FENCE  the second look overtakes the announcement
 *
 * step: A0 server/runtime/threads/post.c ao_post  load relaxed own
 * step: A1 server/runtime/threads/post.c ao_post  fetch_or acq_rel
 * step: A2 server/runtime/threads/post.c ao_post  call mpsc_push
 * step: A3 server/runtime/threads/post.c ao_post  call waker_notify
 * step: C1 server/runtime/threads/mpsc.c mpsc_push  load relaxed
 * step: C2 server/runtime/threads/mpsc.c mpsc_push  compare_exchange release relaxed
 * step: P2 server/runtime/threads/waker.c asleep  fence seq_cst
 * step: P3 server/runtime/threads/waker.c asleep  load relaxed
 * step: N1 server/runtime/threads/waker.c waker_notify  call asleep
 * step: P4 server/runtime/threads/waker.c waker_notify  exchange relaxed
 * step: O0 server/runtime/posts.c take_all  call mpsc_take
 * step: O1 server/runtime/threads/mpsc.c mpsc_take  exchange acquire
 * step: O2 server/runtime/posts.c take_all  call take_entry
 * step: O3 server/runtime/posts.c take_bits  exchange acq_rel
 * step: S1 server/runtime/threads/waker.c announce  store relaxed
 * step: S2 server/runtime/threads/waker.c announce  fence seq_cst
 * step: S3 server/runtime/threads/mpsc.c mpsc_empty  load relaxed
 * step: S5 server/runtime/threads/waker.c waker_retract  store relaxed
 */

#define OBJECTS 2
#define POSTERS 2

#define THREADS  (POSTERS + 1)
#define OWNER    POSTERS
#define CELLS    (2 * OBJECTS + 2)
#define BITS(o)  (o)
#define NEXT(o)  (OBJECTS + o)     /* link of an object, valid while it stands in the inbox */
#define TOP      (2 * OBJECTS)
#define SLEEPING (2 * OBJECTS + 1)
#define NIL      OBJECTS           /* an object's number, or none */

#include "tso.pml"

byte eventfd;
byte linked[OBJECTS]; /* times that the object stands in the stack, or in what the owner has taken and not unlinked */
byte heard;           /* requests that reached the owner */

inline push(t, o)
{
	do
	:: true ->
		top = LOAD(TOP); /* C1 */
		STORE(t, NEXT(o), top);
		atomic {
			compare_exchange(t, TOP, top, o, done); /* C2 */
			if
			:: done -> linked[o]++; assert(linked[o] == 1)
			:: else
			fi
		}
		if
		:: done -> break
		:: else
		fi
	od
}

inline wake(t)
{
	FENCE(t); /* P2 */
	if
	:: LOAD(SLEEPING) == 1 -> /* P3 */
		exchange(t, SLEEPING, 0, old); /* P4 */
		if
		:: old == 1 -> eventfd++
		:: else
		fi
	:: else
	fi
}

/* Poster t asks for bit t of each object in turn, the last poster in the other order. */
proctype poster(byte t)
{
	byte i, o, old, top;
	bool done;
	do
	:: i == OBJECTS -> break
	:: i < OBJECTS ->
		o = (t == POSTERS - 1 -> OBJECTS - 1 - i : i);
		fetch_or(t, BITS(o), 1 << t, old); /* A1 */
		assert((old & (1 << t)) == 0);
#ifndef ALWAYS_PUSH
		if
		:: old == 0 -> push(t, o); wake(t)
		:: else
		fi;
#else
		push(t, o);
		wake(t);
#endif
		i++
	od
}

inline clear(o)
{
	exchange(OWNER, BITS(o), 0, bits); /* O3 */
	d_step {
		do
		:: bits == 0 -> break
		:: else -> heard = heard + (bits & 1); bits = bits >> 1
		od
	}
}

inline take()
{
	atomic { exchange(OWNER, TOP, NIL, o) } /* O1 */
	do
	:: o == NIL -> break
	:: else ->
#ifdef EARLY_CLEAR
		clear(o);
#endif
		atomic { next = LOAD(NEXT(o)); linked[o]-- }
#ifndef EARLY_CLEAR
		clear(o);
#endif
		o = next
	od
}

proctype owner()
{
	byte o, next, bits;
	do
	:: true ->
		take();
		if
		:: heard == OBJECTS * POSTERS -> break
		:: else
		fi;
		STORE(OWNER, SLEEPING, 1); /* S1 */
#ifndef NO_CONSUMER_FENCE
		FENCE(OWNER); /* S2 */
#endif
		if
#ifndef NO_SECOND_LOOK
		:: LOAD(TOP) != NIL /* S3 */
#endif
		:: LOAD(TOP) == NIL -> atomic { eventfd > 0 -> eventfd = 0 }
		fi;
		STORE(OWNER, SLEEPING, 0) /* S5 */
	od
}

init
{
	atomic {
		byte t = 0;
		mem[TOP] = NIL;
		do
		:: t == POSTERS -> break
		:: t < POSTERS -> run poster(t); run flusher(t); t++
		od;
		run owner();
		run flusher(OWNER)
	}
}
