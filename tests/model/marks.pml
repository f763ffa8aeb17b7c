/*
 * The ids of tasks across owners whose clocks differ. An owner gives ids that no row knows of (`durable: none`), and none
 * above the mark in ergon_owner. A take-over sets the mark, and batches raise it. The numbers of holds (`fence_mark`) are
 * the same.
 *
 * Holds: no id is given twice, even by a deposed owner that does not know it yet.
 *
 * mutant: CLOCK_ALONE     the first id comes from the clock, whatever the mark
 * mutant: MARK_AS_SEEN    a take-over begins above the mark that it looked at before, not above the one that it changes
 * mutant: RAISED_AT_ONCE  ids are given up to a mark that is not acknowledged
 */

#ifdef DEEP
#define OWNERS 4
#else
#define OWNERS 3
#endif
#define STEP   2 /* from mark to mark */
#define CLOCKS 3 /* ids that a clock may be at */
#define RAISES 2 /* of each owner */

byte mark, epoch; /* in ergon_owner */
int given;        /* a bit each id */
byte started;

#define BIT(n)     (1 << (n))
#define MAX(a, b)  ((a) > (b) -> (a) : (b))

proctype process(byte p)
{
	byte seen, clock, mine, next, most, raised, raises;

	started == p -> seen = mark;
	select(clock : 0 .. CLOCKS);
	d_step {
#if defined(CLOCK_ALONE)
		next = clock;
#elif defined(MARK_AS_SEEN)
		next = MAX(clock, seen + 1);
#else
		next = MAX(clock, mark + 1);
#endif
		mark = MAX(mark, next + STEP);
		most = mark;
		epoch++;
		mine = epoch;
		seen = 0;
		clock = 0;
		started++
	}
end:
	do
	:: d_step { next <= most ->
		assert((given & BIT(next)) == 0);
		given = given | BIT(next);
		next++
	   }
	:: d_step { raised == 0 && raises < RAISES && epoch == mine ->
		raises++;
		raised = most + STEP;
		mark = raised
	   }
	:: d_step { raised > 0 -> most = raised; raised = 0 } /* acknowledged */
#ifdef RAISED_AT_ONCE
	:: d_step { raised == 0 && raises < RAISES -> raises++; most = most + STEP } /* and the batch is lost */
#endif
	od
}

init
{
	byte p;
	atomic {
		for (p : 0 .. OWNERS - 1) {
			run process(p)
		}
		p = 0
	}
}
