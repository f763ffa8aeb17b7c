/* Inside the driver of PostgreSQL: what its files share.  Everybody else: server/store/driver.h.
 *
 * A batch of the writer becomes one or more *units*: each is one transaction with one number.  At
 * most two units are in flight.  `ergon.owner` has the number of the last one that was committed.
 *
 * A connection that begins raises `session` in that row, which each unit names: from then on
 * nothing fits that another connection has left behind.  The answer says which numbers are
 * committed; others never will be.  So an outcome that is unknown becomes certain (settle.c), and a
 * unit that was not committed may be sent again with other content.
 *
 * Thread: the writer's. */
#ifndef ERGON_STORE_POSTGRES_DRIVER_PARTS_H
#define ERGON_STORE_POSTGRES_DRIVER_PARTS_H

#include "server/store/postgres/connection.h"
#include "server/store/postgres/errors.h"
#include "server/store/postgres/values.h"
#include "server/store/rows.h"

enum { BATCHES = 2, UNITS = 2, FLIGHTS = 4 };

struct unit {
    struct store_batch *batch; /* NULL: an empty one, which tries whether it works again */
    uint32_t from, count;
    uint64_t number;
    uint8_t need; /* the level that its commit has to have; 0: any */
    ao_time sent_at;
};

struct begun {
    struct store_batch *batch;
    uint32_t left;     /* operations without an outcome */
    bool lost_group;   /* one of its groups was not written */
    bool follows_lost; /* or one of another that had not ended when it began */
};

enum flight { FLIGHT_UNIT, FLIGHT_SETTLE, FLIGHT_LOOK };

/* What came for the flight that is being answered. */
struct answer {
    bool failed;
    char state[6];
    struct store_fault fault;
    enum store_level level;  /* what the engine's commits survive: a unit's, or since a settling */
    bool settled;            /* of a settling: its own answer came, and the level follows */
    uint64_t session, batch; /* of a settling... */
    bool found;              /* ...and the epoch is ours; of a unit: the fence's result came */
    uint32_t reads, read_at; /* of a unit: reads.h */
    uint64_t epoch;          /* of a settling: the owner's */
};

/* A range of operations one of which was refused, until it is found. */
struct suspects {
    struct store_batch *batch; /* NULL: there are none */
    uint32_t end;
    uint32_t most; /* operations of a unit, meanwhile */
};

struct loader; /* load.c */

struct postgres_store {
    char *where, *node;
    bool many_hosts; /* in `where` */
    uint64_t incarnation;
    struct row_names names;
    const struct store_table *const *tables;
    uint32_t table_count;
    ao_time retry;
    int stop; /* as struct store_setup has it */

    struct connection link; /* in pipeline mode; its `pg` is NULL: it is away */
    ao_time retry_at;       /* the next try to connect, or of a small commit while it is broken */
    ao_time back_off;
    uint8_t require;      /* operations that are to be on a disk need this level */
    bool by_storage;      /* what the engine writes is replicated, though it cannot tell */
    ao_time unreplicated; /* until then it is known not to replicate... */
    uint8_t lacks;        /* ...that is, to be below this level */
    uint64_t chance;      /* state of a generator: jitter */

    uint64_t epoch; /* 0: it owns nothing */
    bool fenced;
    bool must_settle;
    uint64_t session, committed;
    enum store_error broken; /* STORE_OK: it works */

    struct begun begun[BATCHES]; /* oldest first */
    uint32_t begun_count;
    uint32_t next_batch, next_op; /* where the next unit begins: an index of `begun` */
    struct unit sent[UNITS];      /* oldest first; their outcomes are not known */
    uint32_t sent_count;
    bool unsure; /* they may be committed: an answer did not come, or proves nothing */
    enum flight flights[FLIGHTS];
    uint32_t flight_count;
    ao_time asked_at; /* since then the oldest of them waits for its answer */
    bool silent;      /* for so long that `fault` says it */
    struct answer answer;
    uint32_t answers; /* of flights, ever */
    bool over;        /* the server said that it takes nothing more on this connection */
    bool discards;    /* what is in flight is behind one that failed: its answers say nothing */
    bool flushed;     /* nothing waits to be written to the connection */
    struct suspects suspects;

    uint64_t rows_ahead; /* of the monotonic clock: the one by which rows have their times */
    bool look_wanted;
    ao_time look_at; /* while the schema's upgrade is not finished: the next look */
    struct store_state state;
    struct store_fault fault;

    struct values values;
    struct store_op **ops; /* of the unit that is sent, with members of groups in their places */
    uint32_t op_count;
    const void **rows;          /* of a statement */
    struct group_entry *groups; /* batch.c */
    uint32_t groups_room;       /* of each of these */
    uint32_t groups_used;       /* of `groups`, by the unit: a power of two */
    uint32_t reads;             /* of that unit: as many have been sent */
    struct loader *loader;
};

/* --- batch.c --- */
/* Puts a unit on its way, and notes what it needs.  False: the connection or the memory does not
 * take it. */
bool batch_send(struct postgres_store *s, struct unit *unit);
/* So many operations of a batch become a unit, from one on, and `most` at most. */
uint32_t batch_unit(const struct postgres_store *s, const struct store_batch *batch, uint32_t from,
                    uint32_t most);
/* With which error the operation, of that batch, comes back without being sent: it has to be on a
 * standby, and it is known that nothing will be; or it follows a group that was not written.
 * STORE_OK: it is sent. */
enum store_error batch_refusal(const struct postgres_store *s, const struct store_batch *batch,
                               const struct store_op *op);
/* Nothing is put behind such a unit before it has an outcome. */
bool batch_is_alone(const struct unit *unit);
/* A result of a unit that counts rows; the first operation of it gets the numbers. */
void batch_take_count(struct store_op *op, const PGresult *result);

/* --- flight.c: what is under way --- */
/* Sends what may go.  False: the connection broke. */
bool flight_send(struct postgres_store *s);
/* Sends a small commit, to see whether a store that is broken works again. */
bool flight_try(struct postgres_store *s);
/* Takes what has come.  False: the connection broke. */
bool flight_receive(struct postgres_store *s);

/* --- settle.c --- */
bool settle_is_due(const struct postgres_store *s);
bool settle_send(struct postgres_store *s);
/* Outcomes of what was sent, by the answer: none while the level is below what was sent needs. */
void settle_take(struct postgres_store *s);

/* --- outcome.c --- */
/* The oldest unit is committed. */
void outcome_committed(struct postgres_store *s);
/* What the answer says that commits survive. */
void outcome_level(struct postgres_store *s);
/* The oldest unit has certainly failed, as the answer says. */
void outcome_failed(struct postgres_store *s);
/* The operation where the next unit would begin comes back with this error; nothing is sent. */
void outcome_next(struct postgres_store *s, enum store_error error);
/* Everything that has begun comes back with this error, or STORE_UNSURE. */
void outcome_all(struct postgres_store *s, enum store_error error);
/* Only what has not been sent comes back with this error. */
void outcome_unsent(struct postgres_store *s, enum store_error error);
struct begun *outcome_begun(struct postgres_store *s, const struct store_batch *batch);
/* Sets the place where the next unit begins back to that one. */
void outcome_again(struct postgres_store *s, const struct unit *unit);

/* So many operations may be in the next unit, which begins there. */
uint32_t halve_most(const struct postgres_store *s, const struct store_batch *batch, uint32_t from);

#endif
