/*
 * One actor of a type with `pipeline` (server/jobs/actors/commits.h): turns that follow each other before the disk has
 * them, commits that fail, groups that the store refuses, and states that are appended and folded.
 *
 * A state is the set of the messages whose turns made it, so that each says what it was made upon. `jobs` begins turns,
 * pushes their groups and takes what came back; `store` applies a batch of one or two groups, and commits it or does not:
 * writer.c and sqlite/apply.c give back what follows a group that was not written. A row of the actor is `fresh`
 * (appended) or `folded` (sqlite/states.c). A crash takes memory and all that was pushed, and a load reads the row.
 *
 * Holds: no group is written without those that it was made upon, messages change the actor in their order and once,
 * nobody is answered and no call leaves before the disk has what they come from, and when all is back, memory is as the
 * disk is.
 *
 * mutant: ANSWERED_EARLY     a caller is answered before the commit
 * mutant: CALLS_EARLY        a turn calls before the state that it began with is on disk
 * mutant: NO_COUNT           the writer does not compare what failed with what the client had taken
 * mutant: KEPT_BEHIND        a group is written behind one of its batch that was refused
 * mutant: FOLDS_UNCOMMITTED  a fold takes a state whose commit fails
 * mutant: LOADS_PAST_MAP     a load reads the folded row, although a fresh one is there
 * mutant: RETRY_PASSED       a message that is tried again lets the next one pass
 * mutant: FENCED_TAKEN       the changes of a turn that was fenced are taken
 * mutant: REFUSED_PASSED     the messages behind a refused one do not wait until its end is on disk
 */

#define N 3
#ifdef DEEP
#define FAILURES 3
#else
#define FAILURES 1
#endif

#define ALL ((1 << N) - 1)
#define BIT(m) (1 << (m))
#define IS_IN(some, all) (((some) & (ALL ^ (all))) == 0)

#define OK 0
#define FAILED 1
#define REFUSED 2
#define FOLLOWS 3

/* --- The disk --- */

byte fresh, folded;
bool is_fresh;
#define DISK (is_fresh -> fresh : folded)

byte failed; /* messages that ended FAILED, as their rows say */

/* --- The lanes: message, base, operations that the client had taken, whether it follows another --- */

chan lane = [N] of { byte, byte, byte, bool };
chan back = [N] of { byte, byte }; /* message, outcome */

byte given, group_failed;
bool under_way; /* a batch was applied, and is not committed */
byte count, state; /* of it */
byte whose[2], outcome[2];
bool lost;

byte failures = FAILURES, refusals = 1, crashes = 1, loads = 1, retries = 1;

/* --- What the world knows --- */

byte answered, seen;

inline check()
{
	assert(IS_IN(answered, DISK));
	assert(IS_IN(seen, DISK))
}

/* --- The store --- */

byte m, base, had;
bool follows;

inline in_order()
{
	assert(base == state);
	assert(!(state & BIT(m)) && !(failed & BIT(m)));
	assert(IS_IN(BIT(m) - 1, state | failed))
}

inline apply()
{
	lane?m, base, had, follows;
	whose[count] = m;
	if
#ifndef NO_COUNT
	:: follows && had < group_failed -> outcome[count] = FOLLOWS; lost = true
#endif
#ifndef KEPT_BEHIND
	:: follows && lost -> outcome[count] = FOLLOWS
#endif
	:: else -> /* also where it may be refused */
		if
		:: refusals > 0 -> refusals--; outcome[count] = REFUSED; lost = true
		:: in_order(); state = state | BIT(m); outcome[count] = OK
		fi
	fi;
	count++
}

inline give_back()
{
	given = given + count;
	if
	:: lost -> group_failed = given
	:: else
	fi;
	back!whose[0], outcome[0];
	if
	:: count > 1 -> back!whose[1], outcome[1]
	:: else
	fi;
	under_way = false
}

active proctype store()
{
end:	do
	:: atomic {
		!under_way && nempty(lane) ->
		under_way = true; count = 0; lost = false; state = DISK;
		apply();
		if
		:: nempty(lane) -> apply()
		:: true
		fi;
#ifdef FOLDS_UNCOMMITTED
		if
		:: folded = state; is_fresh = false
		:: true
		fi
#endif
	}
	:: atomic {
		under_way ->
		if
		:: state != DISK -> fresh = state; is_fresh = true
		:: else
		fi;
		give_back()
	}
	:: atomic {
		under_way && failures > 0 ->
		failures--; lost = true;
		outcome[0] = FAILED; outcome[1] = FAILED;
		give_back()
	}
	:: atomic { !under_way && is_fresh -> folded = fresh; is_fresh = false; check() }
	od
}

/* --- The jobs --- */

byte committed, front, chain, taken;
bool running, fenced, doomed;
byte message, began; /* of the turn that runs: its message, and the state that it has */
byte refused;        /* messages whose end is not on disk yet */
byte passed, next;

inline find_next()
{
	next = 0;
	do
	:: next < N && ((front | failed | refused | passed) & BIT(next)) -> next++
	:: else -> break
	od;
	if
	:: next == N && passed ->
		next = 0;
		do
		:: next < N && !(passed & BIT(next)) -> next++
		:: else -> break
		od;
		passed = 0
	:: else
	fi
}

inline forget()
{
	running = false; fenced = false; doomed = false;
	chain = 0; taken = 0; given = 0; group_failed = 0; refused = 0; passed = 0;
	under_way = false;
	do
	:: nempty(lane) -> lane?_, _, _, _
	:: empty(lane) && nempty(back) -> back?_, _
	:: empty(lane) && empty(back) -> break
	od
}

inline load()
{
#ifdef LOADS_PAST_MAP
	committed = folded;
#else
	committed = DISK;
#endif
	front = committed
}

byte got, how;

active proctype jobs()
{
	do
	:: atomic {
		!running && !doomed && (front | failed | refused) != ALL ->
		find_next();
		message = next; began = front; running = true; fenced = false
	}
	:: atomic {
#ifdef CALLS_EARLY
		running && !fenced ->
#else
		running && !fenced && IS_IN(began, committed) ->
#endif
		seen = seen | began; check()
	}
	:: atomic { /* it ended well */
#ifdef FENCED_TAKEN
		running ->
#else
		running && !fenced ->
#endif
		running = false; front = began | BIT(message);
		lane!message, began, taken, (chain > 0);
		chain++;
#ifdef ANSWERED_EARLY
		answered = answered | BIT(message);
#endif
		check()
	}
	:: atomic { running && fenced -> running = false }
	:: atomic { /* it failed, on a state that is on disk, and is tried again */
		running && !fenced && chain == 0 && retries > 0 ->
		retries--; running = false;
#ifdef RETRY_PASSED
		passed = BIT(message)
#endif
	}
	:: atomic {
		nempty(back) ->
		back?got, how;
		taken++; chain--;
		if
		:: how == OK ->
			assert(!doomed);
			committed = committed | BIT(got);
			answered = answered | BIT(got);
			check()
		:: else ->
			doomed = true;
			fenced = running;
			if
			:: how == REFUSED -> refused = refused | BIT(got)
			:: else
			fi
		fi
	}
	:: atomic { refused -> failed = failed | refused; refused = 0 } /* its row */
	:: atomic {
#ifdef REFUSED_PASSED
		doomed && chain == 0 && !running ->
#else
		doomed && chain == 0 && !running && !refused ->
#endif
		doomed = false; front = committed;
		assert(committed == DISK)
	}
	:: atomic { !running && !doomed && chain == 0 && loads > 0 -> loads--; load() }
	:: atomic { crashes > 0 -> crashes--; forget(); load() }
	:: atomic {
		!running && !doomed && chain == 0 && !refused && (committed | failed) == ALL ->
		assert(committed == DISK);
		break
	}
	od
}
