/*
 * A task that kills each process that runs it: its crashes are counted across nodes, from boards that are believed, boards
 * of a node that owns again, and boards that a node reports to the owner.
 *
 * Holds: a crash is counted once; the task is dead after CRASHES of them, and at most one more for each other node whose board
 * was not heard yet, and each count that another crash lost before its commit.
 *
 * mutant: BEGINS_UNCOUNTED  the task begins again before the row has the crash that was counted
 * mutant: REPORTED_TWICE    the owner does not compare the epoch of a board with the last one that was counted
 * mutant: EPOCH_NOT_WRITTEN that epoch is kept in the owner's memory alone
 * mutant: CLEARED_UNHEARD   a node clears its board when it has sent the report, and not when that was answered
 */

#define NODES   2
#define CRASHES 2
#ifdef DEEP
#define OTHERS 3 /* crashes for another reason */
#else
#define OTHERS 2
#endif
#define NOBODY NODES

/* The engine. */
byte owner = NOBODY, epoch;
byte row_crashes;
byte row_board[NODES]; /* ergon_nodes.board: the epoch of the last board that was counted */
bool row_dead;

/* Each node's board. */
byte board_epoch[NODES];
bool board_begun[NODES];

/* The owner's memory. */
byte acts = NOBODY;
byte crashes;
byte counted[NODES];
bool unsaved, dead;

byte deaths, others;

inline count(n, e)
{
	crashes++;
	counted[n] = e;
	unsaved = true;
	dead = dead || crashes >= CRASHES
}

#ifdef REPORTED_TWICE
#define IS_NEW(n, e) true
#else
#define IS_NEW(n, e) (counted[n] < e)
#endif

inline take_over()
{
	crashes = row_crashes;
	dead = row_dead;
	counted[0] = row_board[0];
	counted[1] = row_board[1];
	unsaved = false;
	if
	:: board_begun[n] && owner == n && board_epoch[n] == epoch -> /* believed: its slot is free when the row has it */
		count(n, counted[n])
	:: else ->
		if
		:: board_begun[n] && IS_NEW(n, board_epoch[n]) -> count(n, board_epoch[n])
		:: else
		fi;
		board_begun[n] = false
	fi;
	epoch++;
	owner = n;
	board_epoch[n] = epoch;
	acts = n
}

inline save()
{
	row_crashes = crashes;
	row_dead = dead;
#ifndef EPOCH_NOT_WRITTEN
	row_board[0] = counted[0];
	row_board[1] = counted[1];
#endif
	unsaved = false;
	board_begun[n] = false;
	assert(row_crashes <= deaths)
}

inline crash()
{
	acts = (acts == n -> NOBODY : acts);
	waits = 0
}

proctype node(byte n)
{
	byte waits; /* epoch of the owner that has its report */
end:
	do
	:: d_step { acts == NOBODY -> take_over(); waits = 0 }
	:: d_step { acts == n && unsaved -> save() }
#ifdef BEGINS_UNCOUNTED
	:: d_step { acts == n && !dead ->
#else
	:: d_step { acts == n && !dead && !unsaved ->
#endif
		board_begun[n] = true;
		deaths++;
		assert(deaths <= CRASHES + NODES - 1 + others);
		crash()
	   }
	:: d_step { acts == 1 - n && board_begun[n] && waits != epoch ->
		waits = epoch;
		if
		:: IS_NEW(n, board_epoch[n]) -> count(n, board_epoch[n])
		:: else
		fi;
#ifdef CLEARED_UNHEARD
		board_begun[n] = false;
#endif
	   }
	:: d_step { acts == 1 - n && waits == epoch && waits > 0 && !unsaved -> board_begun[n] = false; waits = 0 }
	:: d_step { others < OTHERS -> others++; crash() }
	od
}

init
{
	atomic {
		run node(0);
		run node(1)
	}
}
