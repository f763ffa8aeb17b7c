/*
 * The numbers of one task's attempts across owners: attempts that begin without a row, boards that are kept or lost, rows
 * that carry `boards`, a task that becomes fsync while it runs, and an end that somebody saw.
 *
 * Each process owns once; a machine keeps its board from process to process. The two machines are two nodes, or one node
 * that moved. A commit is one that is replicated, and happens when the batch is sent: what was late or lost, nobody acted
 * on, so it is a batch that was not sent (batch.pml has the others). Its answer comes later, or never.
 *
 * Holds: no number of an fsync task begins twice, even at a deposed owner that was stopped between its look at the clock
 * and the handler; none begins at an owner after the end was acknowledged; a number is no higher than the attempts that
 * began and the boards that were lost.
 *
 * mutant: NO_BOARDS_IN_LIFE  a life is written without `boards`, and those of its submission count
 * mutant: BOARDS_NOT_READ    the load takes the numbers as they are in the rows
 * mutant: KEPT_BY_OTHERS     a take-over by another node does not count the board as lost
 * mutant: BOARD_OF_OLD       a board of this node is believed whatever its epoch
 * mutant: BEGINS_BEFORE_ROW  an attempt begins although the row does not have the end of the last one
 * mutant: BEGINS_HARDENING   a task that is becoming fsync does not wait for its row
 * mutant: ROWS_NOT_FLUSHED   an owner hands over with rows that are behind
 * mutant: BEGINS_LEAVING     an attempt begins after the hand-over
 * mutant: GIVES_UP_KEPT      an owner that cannot load gives its place up, and its board is not counted as lost
 */

#ifdef DEEP
#define OWNERS 4
#define BEGINS 4 /* attempts that begin */
#else
#define OWNERS 3
#define BEGINS 3
#endif

#define NOBODY 2 /* machines are 0 and 1 */

mtype = { OPEN, RUNNING, ENDED };

typedef Row {
	bool fsync;
	mtype state;
	byte attempt;
	byte boards /* of its life; that of its submission is 0 */
}

/* The engine: ergon_owner, and the task's row. */
byte owner = NOBODY; /* machine */
byte epoch;
byte lost_boards;
Row row, no_row;

bool one_node; /* both machines have its name */

typedef Board {
	byte epoch; /* 0: closed, or of another boot */
	byte begun  /* the highest number */
}
Board board[2];

bool alive[OWNERS];
byte machine[OWNERS];
byte started; /* processes whose successor may start */

byte begun;  /* a bit each number that began while the task was fsync, or becoming that */
byte begins; /* all of them */
bool end_seen;

inline copy(from, to)
{
	to.fsync = from.fsync;
	to.state = from.state;
	to.attempt = from.attempt;
	to.boards = from.boards
}

#ifdef BOARD_OF_OLD
#define BELIEVED (board[m].epoch > 0)
#else
#define BELIEVED (board[m].epoch == epoch)
#endif
#ifdef KEPT_BY_OTHERS
#define LOST (owner == m && !keeps)
#else
#define LOST (owner != NOBODY && !keeps)
#endif

inline take_over()
{
	keeps = (owner != NOBODY && (owner == m || one_node) && BELIEVED);
	lost_boards = (LOST -> lost_boards + 1 : lost_boards);
	epoch++;
	owner = m;
	mine = epoch
}

#ifdef BOARDS_NOT_READ
#define RAISED false
#else
#define RAISED (saved.fsync && saved.state == OPEN)
#endif

inline load()
{
	copy(row, saved);
	boards = lost_boards;
	saved.attempt = (RAISED -> saved.attempt + boards - saved.boards : saved.attempt);
	board[m].begun = (keeps && saved.state != ENDED -> board[m].begun : 0);
	attempt = (board[m].begun > saved.attempt -> board[m].begun : saved.attempt);
	board[m].epoch = mine;
	keeps = false;
	begun = (saved.fsync -> begun : 0);
	state = (saved.state == RUNNING -> OPEN : saved.state);
	started = p + 1
}

#define SAVED_ATTEMPT (saved.attempt - (saved.state == RUNNING && saved.attempt > 0))
#define HARD          (saved.fsync || hardening)
#ifdef BEGINS_BEFORE_ROW
#define MAY_BEGIN (state == OPEN && begins < BEGINS)
#elif defined(BEGINS_HARDENING)
#define MAY_BEGIN (state == OPEN && begins < BEGINS && (!saved.fsync || SAVED_ATTEMPT >= attempt))
#else
#define MAY_BEGIN (state == OPEN && begins < BEGINS && (!HARD || SAVED_ATTEMPT >= attempt))
#endif

#define OWNS   (epoch == mine)
#define COUNTS (saved.fsync || (hardening && OWNS)) /* what a deposed owner would make fsync never is */
#define BIT(n) (1 << (n))

inline begin()
{
	attempt++;
	assert(attempt <= begins + 1 + boards);
	assert(!end_seen || !OWNS);
	assert(!COUNTS || (begun & BIT(attempt)) == 0);
	begun = (COUNTS -> begun | BIT(attempt) : begun);
	begins++;
	board[m].begun = attempt;
	state = RUNNING
}

#define DIRTY (saved.attempt != attempt || saved.state != state || (hardening && !saved.fsync))

inline write()
{
	sent.fsync = HARD;
	sent.state = state;
	sent.attempt = attempt;
#ifndef NO_BOARDS_IN_LIFE
	sent.boards = boards;
#endif
	copy(sent, row);
	under_way = true
}

inline acknowledged()
{
	copy(sent, saved);
	copy(no_row, sent);
	under_way = false;
	hardening = hardening && !saved.fsync;
	end_seen = end_seen || (saved.state == ENDED && saved.fsync)
}

/* It cannot load, or is told to stop before it has loaded. */
inline give_up()
{
	owner = NOBODY;
#ifndef GIVES_UP_KEPT
	lost_boards++;
#endif
	board[m].epoch = 0;
	exit()
}

inline hand_over()
{
#ifndef ROWS_NOT_FLUSHED
	write();
#endif
	owner = NOBODY;
	board[m].epoch = 0;
#ifdef BEGINS_LEAVING
	if
	:: MAY_BEGIN -> begin()
	:: else
	fi;
#endif
	exit()
}

/* It was stopped where it begins the next one, and does not know that it was deposed. */
inline begin_late()
{
	if
	:: under_way -> acknowledged()
	:: else
	fi;
	state = (state == RUNNING -> OPEN : state);
	if
	:: MAY_BEGIN -> begin()
	:: else
	fi;
	exit()
}

inline exit()
{
	alive[p] = false;
	machine[p] = 0;
	started = (started == p -> p + 1 : started);
	m = 0;
	mine = 0;
	boards = 0;
	attempt = 0;
	state = 0;
	keeps = false;
	hardening = false;
	under_way = false;
	copy(no_row, saved);
	copy(no_row, sent);
	goto over
}

/* The lock of the state folder: one process at a time on each machine. */
#define LOCKED(p, m) (alive[p] && machine[p] == m)
#define FREE(m)      (!LOCKED(0, m) && !LOCKED(1, m) && !LOCKED(OWNERS - 2, m))

proctype process(byte p)
{
	byte m, mine, boards, attempt;
	mtype state;
	Row saved, sent; /* what it knows of the row, and what is under way */
	bool keeps, hardening, under_way;

	atomic {
		started == p ->
		if
		:: FREE(0) -> m = 0
		:: p > 0 && FREE(1) -> m = 1
		fi;
		machine[p] = m;
		alive[p] = true;
		take_over()
	}
	if
	:: atomic { OWNS -> load() }
	:: atomic { OWNS -> give_up() }
	:: atomic { exit() }
	fi;
	do
	:: atomic { OWNS && MAY_BEGIN -> begin() }
	:: atomic { OWNS && state == RUNNING -> state = OPEN }
	:: atomic { OWNS && state == RUNNING -> state = ENDED }
	:: atomic { OWNS && !HARD && state != ENDED -> hardening = true }
	:: atomic { OWNS && !under_way && DIRTY -> write() }
	:: atomic { OWNS && under_way -> acknowledged() }
	:: atomic { OWNS && !under_way -> hand_over() }
	:: atomic { OWNS -> exit() } /* it crashes */
	:: atomic { OWNS && board[m].epoch > 0 -> board[m].epoch = 0; exit() } /* its machine loses power */
	:: atomic { !OWNS -> begin_late() }
	od;
over:
	skip
}

init
{
	byte p;
	atomic {
		if
		:: one_node = true
		:: true
		fi;
		if
		:: row.fsync = true
		:: true
		fi;
		row.state = OPEN;
		for (p : 0 .. OWNERS - 1) {
			run process(p)
		}
		p = 0
	}
}
