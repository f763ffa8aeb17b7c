/*
 * The writer of the store on PostgreSQL: batches with numbers, two under way, connections that are lost at any moment
 * while their backend goes on, a batch whose outcome is unknown and how it is settled, a fail-over, and a take-over.
 *
 * An operation is a bit, and so are rows and contents of batches. A commit is one step, and seen by all at once: as if
 * somebody cancelled each wait for the standby. The standby copies the primary at any moment, so the one that is promoted
 * has any prefix of the log that contains all that was acknowledged.
 *
 * Holds: operations are committed once each, in their order; each acknowledged one is on the standby, and in what a new
 * owner loads; one that was answered as failed never becomes a row; a deposed owner changes no row.
 *
 * mutant: EPOCH_ONLY_READ   a batch only reads the epoch, so that nothing orders it and a take-over
 * mutant: LOAD_BEFORE_R     the new owner reads the rows, and then takes over
 * mutant: NO_NUMBER         batches have no numbers, so all that is unanswered is sent again
 * mutant: OTHER_CONTENT     a number is sent with other operations before its outcome is known
 * mutant: SETTLE_ONLY_READS settling changes nothing, so a backend that was left may commit afterwards
 * mutant: SETTLE_AT_ONCE    settling does not wait for the standby
 * mutant: CANCELLED_IS_ACK  a commit with the notice 01000 counts as acknowledged
 */

#if defined(DEEP)
#define OPS      3
#define LOSSES   2 /* connections that are lost */
#define FAILURES 2 /* batches that the engine refuses for a reason that passes: no room, a timeout */
#else
#define OPS      2
#define LOSSES   2
#define FAILURES 1
#endif

#define OWNER 1 /* the writer's epoch; the next owner's is 2 */
#define ALL   ((1 << OPS) - 1)

typedef Engine {
	byte epoch;
	byte session; /* raised by each settling: batches of earlier sessions fail */
	byte batch;   /* the last number */
	byte rows
}

Engine primary, standby;
byte acked, failed; /* what the writer answered */

mtype = { NONE, READ, ON_PRIMARY, ON_BOTH }; /* where a commit is that somebody waits for */
mtype = { ACK, FAILED, FENCED, CANCELLED };

/* The two last backends; of one that is lost the client is gone. */
mtype commit[2] = NONE;
bool lost[2], broken[2]; /* broken: it ended, and its client does not know yet */
chan down[2] = [2] of { byte /* session */, byte /* number */, byte /* content */ };
chan up[2] = [2] of { mtype };

mtype settling = NONE, taking = NONE;
byte loaded; /* by the next owner, once it has taken over */
bool taken, failed_over;
byte failures;

inline copy(from, to)
{
	to.epoch = from.epoch;
	to.session = from.session;
	to.batch = from.batch;
	to.rows = from.rows
}

inline replicated(what) { what = (what == ON_PRIMARY -> ON_BOTH : what) }
inline vanished(what) { what = (what == ON_PRIMARY -> NONE : what) }

inline end_backend(b)
{
	commit[b] = NONE;
	do
	:: down[b]?_,_,_
	:: empty(down[b]) -> break
	od
}

proctype engine()
{
end:
	do
	:: d_step {
		commit[0] == ON_PRIMARY || commit[1] == ON_PRIMARY || settling == ON_PRIMARY ||
		taking == ON_PRIMARY ->
		copy(primary, standby);
		replicated(commit[0]);
		replicated(commit[1]);
		replicated(settling);
		replicated(taking)
	   }
	:: d_step {
		!failed_over ->
		failed_over = true;
		copy(standby, primary);
		vanished(settling);
		vanished(taking);
		end_backend(0);
		end_backend(1);
		broken[0] = true;
		broken[1] = true
	   }
	od
}

#if defined(SETTLE_ONLY_READS)
#define FITS (primary.epoch == OWNER && primary.batch == number - 1)
#elif defined(NO_NUMBER)
#define FITS (primary.epoch == OWNER)
#else
#define FITS (primary.epoch == OWNER && primary.session == session && primary.batch == number - 1)
#endif

inline apply()
{
	assert(primary.epoch == OWNER);
	assert((content & failed) == 0);
	assert((content & (content ^ (content - 1))) > primary.rows); /* its first is behind all that there are */
	primary.batch = number;
	primary.rows = primary.rows | content;
	commit[b] = ON_PRIMARY
}

proctype backend(byte b)
{
	byte session, number, content;
end:
	do
	:: atomic { commit[b] == NONE && !broken[b] && nempty(down[b]) ->
		down[b]?session,number,content;
		if
		:: failures < FAILURES -> failures++; up[b]!FAILED
		:: FITS ->
#ifdef EPOCH_ONLY_READ
			commit[b] = READ
#else
			apply()
#endif
		:: !FITS -> up[b]!FENCED
		fi;
#ifndef EPOCH_ONLY_READ
		session = 0;
		number = 0;
		content = 0
#endif
	   }
#ifdef EPOCH_ONLY_READ
	:: d_step { commit[b] == READ -> apply(); session = 0; number = 0; content = 0 }
#endif
	:: atomic { commit[b] == ON_BOTH -> commit[b] = NONE; up[b]!ACK }
	:: atomic { commit[b] == ON_PRIMARY -> commit[b] = NONE; up[b]!CANCELLED }
	:: d_step { lost[b] -> end_backend(b); lost[b] = false } /* and what did not reach it */
	od
}

inline acknowledge()
{
	acked = acked | first;
	assert((acked & ~standby.rows) == 0);
	assert(!taken || (acked & ~loaded) == 0);
	number++;
	first = second;
	second = 0
}

inline send_again()
{
	if
	:: first != 0 -> down[cur]!session,number + 1,first
	:: else
	fi;
	if
	:: second != 0 -> down[cur]!session,number + 2,second
	:: else
	fi
}

/* What is unanswered may be gathered anew. */
inline gather()
{
	if
	:: second != 0 -> first = first | second; second = 0
	:: true
	fi
}

inline connect()
{
	if
	:: !lost[0] && commit[0] == NONE && empty(down[0]) -> cur = 0
	:: !lost[1] && commit[1] == NONE && empty(down[1]) -> cur = 1
	fi;
	broken[cur] = false;
	do
	:: up[cur]?_
	:: empty(up[cur]) -> break
	od
}

proctype writer()
{
	byte cur, session, losses, next = 1;
	byte number;        /* of the last batch that is known to be committed */
	byte first, second; /* contents of the batches under way; 0: none */
	byte seen;
	bool skips, deposed;
serve:
	do
	:: atomic { second == 0 && next <= ALL && !skips ->
		down[cur]!session,number + 1 + (first != 0),next;
		if
		:: first == 0 -> first = next
		:: else -> second = next
		fi;
		next = next << 1
	   }
	:: atomic { up[cur]?ACK -> acknowledge() }
	:: atomic { up[cur]?FAILED ->
		failed = failed | first;
		assert((failed & (primary.rows | standby.rows)) == 0);
		first = second;
		second = 0;
		skips = first != 0 && !skips /* what is behind it fails, too, since its number does not follow */
	   }
	:: atomic { up[cur]?FENCED ->
		if
		:: skips -> skips = false; send_again()
		:: else -> goto settle
		fi
	   }
	:: atomic { up[cur]?CANCELLED ->
#ifdef CANCELLED_IS_ACK
		acknowledge()
#else
		goto settle
#endif
	   }
#if defined(NO_NUMBER) || defined(OTHER_CONTENT)
	:: atomic { losses < LOSSES -> losses++; lost[cur] = true; connect(); gather(); send_again() }
#else
	:: atomic { losses < LOSSES -> losses++; goto settle }
#endif
	:: atomic { broken[cur] -> goto settle }
	:: next > ALL && first == 0 -> break
	od;
	goto over;
settle:
	atomic { skips = false; lost[cur] = true }
	atomic { connect() }
	d_step {
#ifndef SETTLE_ONLY_READS
		primary.session++;
#endif
		session = primary.session;
		seen = primary.batch;
		deposed = (primary.epoch != OWNER);
		settling = ON_PRIMARY
	}
#ifndef SETTLE_AT_ONCE
	if
	:: settling == ON_BOTH
	:: settling == NONE -> goto settle
	:: atomic { losses < LOSSES -> losses++; goto settle }
	fi;
#endif
	atomic {
		settling = NONE;
		/* Each batch that was under way is committed, or never will be. */
		if
		:: deposed -> goto over
		:: else
		fi;
		do
		:: first != 0 && number < seen -> acknowledge()
		:: else -> break
		od;
		seen = 0;
		gather();
		send_again();
		goto serve
	}
over:
	skip
}

proctype successor()
{
	byte before;
take:
	skip;
#ifdef LOAD_BEFORE_R
	before = primary.rows;
#endif
	d_step { primary.epoch++; primary.batch = 0; taking = ON_PRIMARY }
	if
	:: taking == ON_BOTH
	:: taking == NONE -> goto take
	fi;
	atomic {
#ifdef LOAD_BEFORE_R
		loaded = before;
#else
		loaded = primary.rows;
#endif
		taken = true;
		assert((acked & ~loaded) == 0 && (failed & loaded) == 0)
	}
}

init
{
	atomic {
		primary.epoch = OWNER;
		standby.epoch = OWNER;
		run engine();
		run backend(0);
		run backend(1);
		run writer();
		run successor()
	}
}
