/*
 * A ring whose producer takes items back: the consumer takes an item by exchanging its slot for 0, and so does the
 * producer that takes it back. Everything else is as in ring.pml.
 *
 * Holds: either the consumer or the producer gets each item, never both, and none is lost.
 *
 * mutant: CLAIM_BY_LOAD  the consumer reads the slot, and then clears it
 * mutant: BACK_BY_LOAD   the producer reads the slot, and then clears it
 * mutant: BACK_FREES     the producer uses a slot again before the consumer has given it back
 *
 * step: T2 server/runtime/threads/ring.h ring_ready  load acquire
 * step: C1 server/runtime/threads/ring.h ring_claim  exchange relaxed
 * step: B1 server/runtime/threads/ring.h ring_take_back  exchange relaxed
 * step: H0 server/runtime/threads/ring.h ring_release  load relaxed own
 * step: H2 server/runtime/threads/ring.h ring_release  store release
 */

#define CAPACITY 2
#define ITEMS    4
#define BACKS    3 /* looks at a slot to take its item back */

#define THREADS  2
#define PRODUCER 0
#define CONSUMER 1
#define CELLS    (CAPACITY + 2)
#define SLOT(i)  ((i) % CAPACITY)
#define TAIL     CAPACITY
#define HEAD     (CAPACITY + 1)

#include "tso.pml"

byte had[ITEMS + 1]; /* how often somebody got it, by item */
byte all;            /* items that somebody got */
byte over;           /* threads that have ended */

inline get(item)
{
	if
	:: item != 0 ->
		assert(had[item] == 0);
		had[item]++;
		all++
	:: else
	fi
}

proctype producer()
{
	byte staged, flushed, head_seen, nth, item, backs;
	do
	:: flushed == ITEMS && backs == BACKS -> break
	:: staged < ITEMS ->
		if
		:: staged - head_seen == CAPACITY -> head_seen = LOAD(HEAD)
		:: else
		fi;
		if
		:: staged - head_seen < CAPACITY ->
			STORE(PRODUCER, SLOT(staged), staged + 1);
			staged++
		:: else
		fi
	:: flushed != staged ->
		STORE(PRODUCER, TAIL, staged);
		flushed = staged
	:: backs < BACKS && staged > head_seen ->
		backs++;
		select(nth : 0 .. (CAPACITY - 1));
		if
		:: nth < staged - head_seen ->
#ifdef BACK_BY_LOAD
			empty(buffer[PRODUCER]);
			item = LOAD(SLOT(staged - 1 - nth));
			STORE(PRODUCER, SLOT(staged - 1 - nth), 0);
#else
			exchange(PRODUCER, SLOT(staged - 1 - nth), 0, item); /* B1 */
#endif
			get(item);
#ifdef BACK_FREES
			if
			:: item != 0 && nth == 0 && staged < ITEMS ->
				STORE(PRODUCER, SLOT(staged - 1), staged + 1);
				staged++;
				head_seen++
			:: else
			fi
#endif
		:: else
		fi
	:: backs < BACKS && staged == ITEMS -> backs++ /* it need not */
	od;
	over++
}

proctype consumer()
{
	byte taken, released, tail_seen, item;
	do
	:: taken == ITEMS && released == ITEMS -> break
	:: taken < ITEMS ->
		if
		:: taken == tail_seen -> tail_seen = LOAD(TAIL) /* T2 */
		:: else
		fi;
		if
		:: taken != tail_seen ->
#ifdef CLAIM_BY_LOAD
			item = LOAD(SLOT(taken));
			STORE(CONSUMER, SLOT(taken), 0);
#else
			exchange(CONSUMER, SLOT(taken), 0, item); /* C1 */
#endif
			get(item);
			taken++
		:: else
		fi
	:: released < taken ->
		STORE(CONSUMER, HEAD, taken); /* H2 */
		released = taken
	od;
	over++
}

proctype end()
{
	over == 2 -> assert(all == ITEMS)
}

init
{
	atomic {
		run producer();
		run flusher(PRODUCER);
		run consumer();
		run flusher(CONSUMER);
		run end()
	}
}
