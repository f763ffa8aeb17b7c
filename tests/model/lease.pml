/*
 * Who may act as the owner of the tasks: renewals, deaths, take-overs, hand-overs and the self-fence, while the engine's
 * primary is replaced by its standby, and the old one goes on for whoever still reaches it.
 *
 * Process 0 owns at first, process 1 is another node, and process 2 is started later under the name of process 0: on the
 * same machine when that has crashed, or elsewhere while it lives. A tick adds one to each count of time; no clock is
 * compared with another. A commit is seen by all at once, as if somebody had cancelled its wait for the standby.
 *
 * Holds: at most one process acts (gives attempts, grants permits, answers reads).
 *
 * mutant: NO_SELF_FENCE     an owner acts until it hears that it was deposed
 * mutant: LATE_SELF_FENCE   it acts for longer than a lease
 * mutant: AGE_FROM_ANSWER   the age of a renewal counts from its answer, not from when it was sent
 * mutant: RENEWS_AT_ONCE    renewals do not wait for the standby
 * mutant: COMPARES_CLOCKS   a node is dead when its time stamp is old by the observer's clock
 * mutant: NUMBER_NOT_ASKED  a take-over does not ask whether the dead one has renewed meanwhile
 * mutant: REPEATED_NUMBERS  a renewal adds one to the row, so a fail-over lets a number come back
 * mutant: LOOKS_AT_ONCE     a take-over whose answer was lost is believed as soon as the primary shows it
 * mutant: PLACE_AT_ONCE     a process takes its name's place although the old one may live
 * mutant: HANDS_OVER_ACTING an owner acts after it has sent its hand-over
 */

#define PROCESSES 3
#define NAMES     2
#define NAME(i)   ((i) % 2)
#define NOBODY    PROCESSES

#ifdef DEEP
#define LEASE    3 /* ticks */
#define FENCE    3 /* the margin of a second is for what ticks do not show: clocks that run at other speeds */
#else
#define LEASE    2
#define FENCE    2
#endif
#define RENEWALS 1 /* of each process, and one more of the first */

typedef Engine {
	byte owner;              /* process */
	byte epoch;
	byte process[NAMES];     /* incarnation */
	byte renewals[NAMES];
	bool dead[NAMES]
}

/* The first is the primary until the fail-over, and the second after it. */
Engine engine[3], standby; /* the third is never used */
bool failed_over;

mtype = { NONE, ON_PRIMARY, ON_BOTH, UNCHANGED };
mtype answer[PROCESSES] = NONE; /* of the call that is under way */
byte link[PROCESSES];           /* engine */

/* In ticks, as each process counts them. */
byte age[PROCESSES];    /* since its last acknowledged renewal was sent */
byte asked[PROCESSES];  /* since the renewal under way was sent */
byte silent[PROCESSES]; /* since it saw the owner renew */

bool owns[PROCESSES], over[PROCESSES];

#ifdef NO_SELF_FENCE
#define ACTS(i) (owns[i])
#elif defined(LATE_SELF_FENCE)
#define ACTS(i) (owns[i] && age[i] <= FENCE)
#else
#define ACTS(i) (owns[i] && age[i] < FENCE)
#endif

#define ONE_ACTS assert(ACTS(0) + ACTS(1) + ACTS(2) <= 1)

#define E           engine[link[i]]
#define COMMITTED   (failed_over && link[i] == 1 -> ON_BOTH : ON_PRIMARY)

inline copy(from, to)
{
	to.owner = from.owner;
	to.epoch = from.epoch;
	to.process[0] = from.process[0];
	to.process[1] = from.process[1];
	to.renewals[0] = from.renewals[0];
	to.renewals[1] = from.renewals[1];
	to.dead[0] = from.dead[0];
	to.dead[1] = from.dead[1]
}

#ifdef LATE_SELF_FENCE
#define OLD (FENCE + 1)
#else
#define OLD FENCE
#endif
#define MOST(count, most) count = (count < most -> count + 1 : count)
#define TICK(i) \
	MOST(age[i], OLD); \
	MOST(asked[i], OLD); \
	silent[i] = (!owns[i] && silent[i] < LEASE -> silent[i] + 1 : silent[i])

#define REPLICATED(i) answer[i] = (answer[i] == ON_PRIMARY -> ON_BOTH : answer[i])

proctype world()
{
end:
	do
	:: d_step { TICK(0); TICK(1); TICK(2) }
	:: d_step {
		!failed_over && (answer[0] == ON_PRIMARY || answer[1] == ON_PRIMARY || answer[2] == ON_PRIMARY) ->
		copy(engine[0], standby);
		REPLICATED(0);
		REPLICATED(1);
		REPLICATED(2)
	   }
	:: d_step { !failed_over -> copy(standby, engine[1]); copy(engine[2], standby); failed_over = true }
	od
}

inline exit()
{
	owns[i] = false;
	over[i] = true;
	age[i] = OLD;
	asked[i] = OLD;
	silent[i] = LEASE;
	answer[i] = NONE;
	goto over_
}

/* The engine is away, or was: any that takes writes is the primary, as far as a process can know. */
inline connect()
{
	answer[i] = NONE;
	asked[i] = OLD;
	if
	:: failed_over -> link[i] = 1
	:: link[i] = 0
	fi
}

inline join()
{
	d_step {
		E.process[NAME(i)] = i;
		E.renewals[NAME(i)] = 0;
		E.dead[NAME(i)] = false;
		answer[i] = COMMITTED
	}
	if
	:: atomic { answer[i] == ON_BOTH -> answer[i] = NONE; silent[i] = 0 }
	:: atomic { connect(); goto start }
	fi
}

inline renew()
{
	d_step {
		if
		:: E.process[NAME(i)] == i && !E.dead[NAME(i)] ->
			number++;
#ifdef REPEATED_NUMBERS
			E.renewals[NAME(i)]++;
#else
			E.renewals[NAME(i)] = number;
#endif
			answer[i] = COMMITTED
		:: else -> answer[i] = UNCHANGED
		fi;
		asked[i] = 0
	}
	if
#ifdef RENEWS_AT_ONCE
	:: atomic { answer[i] == ON_BOTH || answer[i] == ON_PRIMARY ->
#else
	:: atomic { answer[i] == ON_BOTH ->
#endif
		age[i] = asked[i];
#ifdef AGE_FROM_ANSWER
		age[i] = 0;
#endif
		ONE_ACTS;
		asked[i] = OLD;
		answer[i] = NONE
	   }
	:: atomic { answer[i] == UNCHANGED -> exit() }
	:: atomic { connect() }
	fi
}

/* Whose renewals count: a process has its name's row for itself. */
#define OTHER (seen.owner != NOBODY && NAME(seen.owner) != NAME(i))

inline look()
{
	d_step {
		if
		:: E.owner != seen.owner || E.epoch != seen.epoch || (OTHER && (
			E.process[NAME(seen.owner)] != seen.process || E.renewals[NAME(seen.owner)] != seen.renewals)) ->
			seen.owner = E.owner;
			seen.epoch = E.epoch;
			seen.process = (OTHER -> E.process[NAME(seen.owner)] : 0);
			seen.renewals = (OTHER -> E.renewals[NAME(seen.owner)] : 0);
			silent[i] = 0
		:: else
		fi
	}
}

#ifdef NUMBER_NOT_ASKED
#define STILL_SILENT true
#else
#define STILL_SILENT (!OTHER || ( \
	E.process[NAME(seen.owner)] == seen.process && E.renewals[NAME(seen.owner)] == seen.renewals))
#endif

#if defined(COMPARES_CLOCKS)
#define MAY_TAKE true /* the clocks may be a lease apart */
#elif defined(PLACE_AT_ONCE)
#define MAY_TAKE (silent[i] == LEASE || !OTHER)
#else
#define MAY_TAKE (silent[i] == LEASE || seen.owner == NOBODY || (!OTHER && proof))
#endif

inline take_over()
{
	d_step {
		if
		:: E.owner == seen.owner && E.epoch == seen.epoch && STILL_SILENT ->
			if
			:: OTHER -> E.dead[NAME(seen.owner)] = true
			:: else
			fi;
			E.owner = i;
			E.epoch++;
			answer[i] = COMMITTED
		:: else -> answer[i] = UNCHANGED
		fi
	}
	wait_for_place()
}

/* Its answer was lost; asking waits for the standby, too. */
inline ask_for_place()
{
	d_step { answer[i] = (E.owner == i -> COMMITTED : UNCHANGED) }
	wait_for_place()
}

inline wait_for_place()
{
	if
	:: atomic { answer[i] == ON_BOTH ->
		owns[i] = true;
		ONE_ACTS;
		silent[i] = 0;
		seen.owner = 0;
		seen.epoch = 0;
		seen.process = 0;
		seen.renewals = 0;
		answer[i] = NONE
	   }
	:: atomic { answer[i] == UNCHANGED -> answer[i] = NONE }
	:: atomic { connect() }
	fi
}

inline hand_over()
{
	d_step {
#ifndef HANDS_OVER_ACTING
		owns[i] = false;
#endif
		E.owner = (E.owner == i -> NOBODY : E.owner)
	}
	exit()
}

typedef Seen {
	byte owner;
	byte epoch;
	byte process;
	byte renewals
}

proctype node(byte i)
{
	Seen seen;
	byte number; /* of its last renewal */
	bool proof;  /* the process that had its name is dead */

	seen.owner = NOBODY;
	if
	:: i == 2 -> proof = over[0]
	:: else
	fi;
start:
	if
	:: i == 2 -> join()
	:: else
	fi;
	do
	:: number < RENEWALS + (i == 0) -> renew()
	:: !owns[i] -> look()
	:: !owns[i] && seen.owner != i && MAY_TAKE -> take_over()
#ifdef LOOKS_AT_ONCE
	:: d_step { !owns[i] && seen.owner == i && E.owner == i -> owns[i] = true; ONE_ACTS }
#else
	:: !owns[i] && seen.owner == i -> ask_for_place()
#endif
	:: owns[i] -> hand_over()
	:: i == 0 -> exit() /* it crashes */
	od;
over_:
	skip
}

init
{
	atomic {
		engine[0].process[1] = 1;
		copy(engine[0], standby);
		owns[0] = true;
		run world();
		asked[0] = OLD; asked[1] = OLD; asked[2] = OLD;
		run node(0);
		if /* one of them: the three together have more than 10^8 states */
#ifndef PLACE_AT_ONCE
		:: run node(1)
#endif
		:: run node(2)
		fi
	}
}
