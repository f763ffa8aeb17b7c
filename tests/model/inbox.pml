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
		top = LOAD(TOP);
		STORE(t, NEXT(o), top);
		atomic {
			compare_exchange(t, TOP, top, o, done);
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
	FENCE(t);
	if
	:: LOAD(SLEEPING) == 1 ->
		exchange(t, SLEEPING, 0, old);
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
		fetch_or(t, BITS(o), 1 << t, old);
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
	exchange(OWNER, BITS(o), 0, bits);
	d_step {
		do
		:: bits == 0 -> break
		:: else -> heard = heard + (bits & 1); bits = bits >> 1
		od
	}
}

inline take()
{
	atomic { exchange(OWNER, TOP, NIL, o) }
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
		STORE(OWNER, SLEEPING, 1);
#ifndef NO_CONSUMER_FENCE
		FENCE(OWNER);
#endif
		if
#ifndef NO_SECOND_LOOK
		:: LOAD(TOP) != NIL
#endif
		:: LOAD(TOP) == NIL -> atomic { eventfd > 0 -> eventfd = 0 }
		fi;
		STORE(OWNER, SLEEPING, 0)
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
