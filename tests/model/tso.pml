/*
 * Memory of a TSO machine: each thread has a FIFO store buffer of its own, and a store reaches memory
 * when its flusher happens to run. A load may therefore overtake an earlier store of the same thread:
 * the one reordering that x86 shows, and the one that the wake-up protocols stand or fall by.
 *
 * A model defines THREADS and CELLS before it includes this file, and starts `flusher(t)` for each
 * thread that stores. No thread of these models loads a cell that may stand in its own buffer, so
 * store-to-load forwarding is left out.
 */

#define DEPTH 4 /* of a store buffer: more than any thread of the models has under way */

byte mem[CELLS];
chan buffer[THREADS] = [DEPTH] of { byte /* cell */, byte /* value */ };

#define STORE(t, cell, value) buffer[t]!cell,value
#define LOAD(cell)            mem[cell]
#define FENCE(t)              empty(buffer[t])

/* A read-modify-write drains the buffer first, then is one indivisible action on memory. */
inline exchange(t, cell, value, old)
{
	atomic { empty(buffer[t]); old = mem[cell]; mem[cell] = value }
}

inline fetch_or(t, cell, bits, old)
{
	atomic { empty(buffer[t]); old = mem[cell]; mem[cell] = old | bits }
}

inline compare_exchange(t, cell, expected, value, done)
{
	atomic {
		empty(buffer[t]);
		if
		:: mem[cell] == expected -> mem[cell] = value; done = true
		:: else -> done = false
		fi
	}
}

proctype flusher(byte t)
{
	byte cell, value;
end:
	do
	:: atomic { buffer[t]?cell,value -> mem[cell] = value }
	od
}
