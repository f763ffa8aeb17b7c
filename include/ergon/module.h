/* Handlers, and the modules that bring them: the binary interface.  Module authors include
 * <ergon/handler.h>, which puts plain functions over it.
 *
 * A module is a shared object that exports one function, ergon_module().  It imports nothing
 * from the server: all it may call stands in the table of host functions that it is given (the way
 * of SQLite's loadable extensions), so a module built against one version runs in every server of
 * the same major version.  The built-in modules use the same door.
 *
 * A *stepped* handler runs on a loop that also serves connections: its steps are brief (a
 * millisecond is long) and never block; it may use everything cooperative.  A *blocking* handler
 * runs on a thread of its own kind, one task at a time, and may block or burn processor time.  A
 * handler is one or the other, never both.
 *
 * Thread: the host's functions are for the thread that runs the handler of the task, while it runs
 * it, unless an entry says otherwise; one handler may run on many threads at a time, each with a
 * task of its own.  What a host function returns belongs to the task, unless an entry says
 * otherwise. */
#ifndef ERGON_MODULE_H
#define ERGON_MODULE_H

#include <ergon/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ERGON_ABI_MAJOR = 1, ERGON_ABI_MINOR = 6 };

enum {
    ERGON_TASK_ID_SIZE = 33, /* bytes of the text, with the terminator */
    ERGON_TRACEPARENT_SIZE = 56
};

struct ergon_task;   /* one task while its handler has it */
struct ergon_module; /* the module being initialised */
struct ergon_host;
struct ao_api;
struct ao_port;
struct ao_sem_remote;

struct ergon_bytes {
    const uint8_t *at;
    size_t len;
};

enum ergon_kind { ERGON_STEPPED = 1, ERGON_BLOCKING = 2 };

/* A handler.  The struct, its strings included, must stay as long as the module is loaded: for
 * ever. */
struct ergon_handler {
    uint32_t size; /* sizeof(struct ergon_handler) of who filled it */
    enum ergon_kind kind;
    /* The RPC method; 1 to 64 of [a-z0-9_.-]; not below a prefix of the server's own. */
    const char *name;
    const char *summary; /* one line for `ergon methods -v` */
    const char *params;  /* for people: "[data: bin, {level: int}]" */

    /* Stepped.  Called in the first step and in each that follows a park or AO_AGAIN.  AO_DONE ends
     * the task: with the result that was set, or nil.  AO_FAULT (by ao_fault) ends it as FAILED.
     * `state` is state_size zeroed bytes of this task.  `self` is the task's active object, for
     * AO_SLEEP, AO_AWAIT and their like. */
    enum ao_verdict (*step)(struct ao *self, struct ergon_task *task, void *state);
    uint32_t state_size; /* bytes, at most 64 KiB */
    /* May be NULL.  Called once when the task is over, however it ended (result, failure, cancel
     * while parked, shutdown): gives back what the state holds.  Pending waits were withdrawn and
     * scoped permits given back before. */
    void (*cleanup)(struct ergon_task *task, void *state);

    /* Blocking.  Returning ends the task: with the result that was set, or nil. */
    void (*run)(struct ergon_task *task);

    void *arg;      /* the handler's own; ergon_arg() */
    uint32_t flags; /* enum ergon_handler_flags */
};

enum ergon_handler_flags {
    ERGON_MANAGED = 1, /* every call goes through the manager, never by the local short cut */
    /* Its results may be as large as a message, whatever its parameters: calls begin only where
     * there is room for one.  Of others the server learns it by and by, and then waits, too. */
    ERGON_LARGE_RESULTS = 2,
    /* Nobody is shown the parameters of its submitted tasks, and no search finds them. */
    ERGON_SECRET_PARAMS = 4,
    /* Of a method of an actor: it goes through no mailbox, so that it runs beside turns of the
     * actor, and changes nothing. */
    ERGON_READS = 8
};

/* The next message runs; the actor is stopped; it has no state any more. */
enum ergon_on_failure { ERGON_FAILURE_SKIP, ERGON_FAILURE_STOP, ERGON_FAILURE_RESET };

/* A type of actors (since 1.5): methods that run for one actor, in turn, and have its state.  Each
 * of them is named "type.method"; "type.step" is called by nobody, and steps an actor as long as it
 * is neither asleep nor stopped.  Constant data of the module, for ever. */
struct ergon_actor {
    uint32_t size;    /* sizeof(struct ergon_actor) of who filled it */
    const char *type; /* as a handler's name; type and method together have 64 bytes at most */
    const struct ergon_handler *methods;
    uint32_t count;
    uint32_t schema;     /* of the states that these methods write */
    uint32_t state_max;  /* bytes of a state, at most 1 MiB; 0: 64 KiB */
    uint32_t retries;    /* of a message that is no call; 0: 3 */
    uint64_t idle_ms;    /* how long an actor stays that nobody uses; 0: 5 minutes */
    uint64_t timeout_ms; /* of an attempt; 0: 30 s */
    /* What follows when a message has failed for good (enum ergon_on_failure), and how many such
     * within window_ms stop the actor whatever that is, at most 1000; 0: 10 in 60,000. */
    uint32_t on_failure, intensity;
    uint64_t window_ms;
    /* An actor "type/key" that gets `failed [actor, method, error, stopped]` then; NULL: none. */
    const char *supervisor;
    /* True: the methods touch nothing outside their turn, so the next turn of an actor begins
     * before the disk has the last one (docs/actors.md).  A turn may run again then, unseen. */
    bool pipeline;
};

/* Whose turn it is; valid as long as the task. */
struct ergon_turn {
    struct ergon_bytes actor; /* "type/key" */
    struct ergon_bytes state; /* one MessagePack value; empty: it has none */
    uint64_t version;         /* of the state */
    uint32_t schema;          /* that the state was written with */
};

/* How a nested call ended.  Spans are valid until the next nested call of this task, or its end. */
struct ergon_outcome {
    bool ok;
    struct ergon_bytes result; /* raw MessagePack; when ok */
    const char *code;          /* "BUSY", "FAILED", ...; when not ok */
    const char *text;
};

struct ergon_call; /* a nested call of a stepped handler in flight; see ergon_call_start */

/* A cursor over parameters; the readers take the next value if it has the asked shape, else return
 * false and leave it. */
struct ergon_reader {
    const uint8_t *at;
    const uint8_t *end;
};

/* A variable of the handler that a parameter goes to, and its size in bytes. */
struct ergon_param {
    void *to;
    size_t size;
};

/* One value of a result; its letter says which member counts (B: i). */
union ergon_value {
    int64_t i;
    uint64_t u;
    double d;
    struct ergon_bytes b; /* of `s` without `at`: nil */
};

/* The host functions.  Append only: `size` tells a module how many there are. */
struct ergon_host {
    uint32_t size; /* of the host's table, bytes */
    uint16_t major, minor;

    /* --- During init --- */
    /* The handler is borrowed for ever.  0, or -1, the log says why, and the module is refused: a
     * bad or taken name, a prefix of the server's own, a handler that is neither stepped nor
     * blocking or both, too much state, no memory. */
    int (*register_handler)(struct ergon_module *module, const struct ergon_handler *handler);
    /* Levels are 0 debug .. 3 error.  Any thread, any time; the texts are borrowed. */
    void (*log)(int level, const char *module, const char *text);

    /* --- Parameters; valid during one step (they may move between two), or one run --- */
    struct ergon_bytes (*params)(struct ergon_task *task); /* raw; one MessagePack value */
    /* A reader at the first parameter.  Returns how many there are. */
    uint32_t (*params_open)(struct ergon_task *task, struct ergon_reader *reader);
    /* Each takes the next value.  False: it has another shape, or there is none; the reader stays
     * before it. */
    bool (*read_nil)(struct ergon_reader *r);
    bool (*read_bool)(struct ergon_reader *r, bool *out);
    bool (*read_int)(struct ergon_reader *r, int64_t *out);
    bool (*read_uint)(struct ergon_reader *r, uint64_t *out);
    bool (*read_number)(struct ergon_reader *r, double *out);
    bool (*read_bytes)(struct ergon_reader *r, struct ergon_bytes *out); /* str or bin */
    bool (*read_array)(struct ergon_reader *r, uint32_t *count);
    bool (*read_map)(struct ergon_reader *r, uint32_t *pairs);
    bool (*read_any)(struct ergon_reader *r, struct ergon_bytes *raw);
    bool (*read_duration)(struct ergon_reader *r, uint64_t *ns); /* milliseconds, or "250ms" */
    bool (*read_size)(struct ergon_reader *r, uint64_t *bytes);  /* bytes, or "64k" */

    /* --- Result: the last one set counts.  Each returns false without memory or past the message
     * limit; then the task is failed already, and the handler should end. --- */
    bool (*result_nil)(struct ergon_task *task);
    bool (*result_bool)(struct ergon_task *task, bool v);
    bool (*result_int)(struct ergon_task *task, int64_t v);
    bool (*result_double)(struct ergon_task *task, double v);
    bool (*result_str)(struct ergon_task *task, const void *text, size_t len);
    bool (*result_bin)(struct ergon_task *task, const void *bytes, size_t len);
    /* `value` is one whole MessagePack value. */
    bool (*result_raw)(struct ergon_task *task, const void *value, size_t len);
    /* Room for `size` bytes of raw result to write into (NULL where the others return false), then
     * its true length, which is not more: whoever says more has overwritten what is not its own,
     * and the process aborts. */
    uint8_t *(*result_room)(struct ergon_task *task, size_t size);
    void (*result_done)(struct ergon_task *task, size_t len);
    /* Appends; has the shape of msgpack-c's msgpack_packer_write, with the task as `data`.  0, or
     * -1 where the others return false. */
    int (*result_write)(void *task, const char *bytes, size_t len);

    /* Ends the task as failed: `code` is 1 to 32 of [A-Z0-9_] (NULL: "FAILED"), `text` is cut at
     * 400 bytes. */
    void (*fail)(struct ergon_task *task, const char *code, const char *text);

    /* --- The task --- */
    void *(*arg)(struct ergon_task *task);
    bool (*cancelled)(struct ergon_task *task);     /* nobody wants the result any more; poll it */
    uint64_t (*time_left)(struct ergon_task *task); /* ns to the deadline; UINT64_MAX: none */
    uint64_t (*now)(struct ergon_task *task);       /* ns, monotonic */
    uint64_t (*message_max)(struct ergon_task *task); /* bytes: no result may be larger */
    /* Memory that is freed with the task; NULL without memory. */
    void *(*alloc)(struct ergon_task *task, size_t size);

    /* --- Nested calls: inherit the deadline; refused past a depth of 16 --- */
    /* Blocking handlers: waits for the end, however it comes; `out` is always filled.  Codes that
     * are not the callee's own: NO_METHOD, NO_EXECUTOR, TOO_DEEP, BUSY (too many calls wait on this
     * thread), MEMORY, CANCELLED, DEADLINE, DRAINING; FAILED in a stepped handler. */
    void (*call)(struct ergon_task *task, const char *method, struct ergon_bytes params,
                 struct ergon_outcome *out);
    /* Stepped handlers: starts a call that belongs to the task.  NULL without memory, or in a
     * blocking handler; a call that cannot begin for another reason has ended at once, with
     * NO_METHOD, NO_EXECUTOR, TOO_DEEP or MEMORY for its outcome.  Awaited with AO_AWAIT(self,
     * &seq, &wait, ergon_call_await(call, &wait)), which never fails; then ergon_call_outcome()
     * takes what came of it, or gives it up if it has not ended, and ends its use (a second time
     * aborts).  Calls that were not taken are gone when `cleanup` is called. */
    struct ergon_call *(*call_start)(struct ergon_task *task, const char *method,
                                     struct ergon_bytes params);
    bool (*call_await)(struct ergon_call *call, struct ao_wait *wait);
    void (*call_outcome)(struct ergon_call *call, struct ergon_outcome *out);

    /* --- Everything cooperative, for stepped handlers; <ergon/handler.h> gives the functions their
     * names --- */
    const struct ao_api *ao;
    /* The port of the activator that runs this task: what ao_sem_share(), ao_sem_remote_acquire()
     * and their like want.  NULL in a blocking handler. */
    struct ao_port *(*port)(struct ergon_task *task);

    /* --- Tasks that last (since 1.1).  Of a plain call: no id, attempt 1, and nobody hears what it
     * says. --- */
    /* The id that its client knows it by; ERGON_TASK_ID_SIZE bytes.  False: it has none. */
    bool (*task_id)(struct ergon_task *task, char *buf);
    uint32_t (*attempt)(struct ergon_task *task); /* from 1; only grows, across restarts too */
    /* How far it is: `total` 0 when nobody knows; `text`, cut at 400 bytes, may be NULL.  And a
     * part of the result, one whole MessagePack value.  False: it was not taken, as there is no
     * memory, or a megabyte of such news is on its way, or the part is no such value or is too long
     * for a message; the task goes on all the same. */
    bool (*progress)(struct ergon_task *task, uint64_t done, uint64_t total, const char *text);
    bool (*partial)(struct ergon_task *task, const void *value, size_t len);
    /* The attempt ends with its handler, which should do so now, is no failure, and the next one
     * comes `ns` later.  A plain call is failed with BUSY. */
    void (*again)(struct ergon_task *task, uint64_t ns);

    /* --- Semaphores for all (since 1.2): <ergon/sem_remote.h> --- */
    /* With so many permits; the caller gets one reference, and may keep it for other tasks.  It
     * lives on the loop of a stepped handler's task, or on the manager's.  NULL without memory. */
    struct ao_sem_remote *(*sem_new)(struct ergon_task *task, uint32_t permits);
    /* Blocking handlers: waits for `permits` of `sem`, in order of arrival among all who ask for
     * some, `limit` ns at most (UINT64_MAX: without end), and no longer than somebody wants the
     * task.  READY: they are the handler's, until ao_sem_remote_release_n(), which it owes on each
     * of its ways out.  Else it holds none: DEADLINE (the limit, or the task's deadline or
     * timeout), CANCELLED (the task, or the server stops), CLOSED, REFUSED (no memory, or too many
     * wait on this thread).  A wait in which this thread runs a nested call of others, because all
     * blocking ones wait, arrives anew after it.  Misuse, which aborts: in a stepped handler; 0
     * permits. */
    enum ao_wait_outcome (*sem_acquire)(struct ergon_task *task, struct ao_sem_remote *sem,
                                        uint32_t permits, uint64_t limit);

    /* --- Traces (since 1.3) --- */
    /* The trace that the task belongs to, as W3C Trace Context writes it, for what the handler asks
     * of others; nested calls inherit it anyway.  ERGON_TRACEPARENT_SIZE bytes.  False: it belongs
     * to none, and the text is empty. */
    bool (*traceparent)(struct ergon_task *task, char *buf);

    /* --- Parameters and results by letters (since 1.4): ergon_params() and ergon_result() of
     * <ergon/params.h>, which has the letters, checks them, and says when they return false. --- */
    bool (*take_params)(struct ergon_task *task, const char *letters, const struct ergon_param *to,
                        uint32_t count);
    bool (*result_values)(struct ergon_task *task, const char *letters,
                          const union ergon_value *values, uint32_t count);

    /* --- Actors (since 1.5) --- */
    /* During init: registers the methods, too.  0, or -1 as register_handler. */
    int (*register_actor)(struct ergon_module *module, const struct ergon_actor *actor);
    /* False: the task is no turn of an actor. */
    bool (*turn)(struct ergon_task *task, struct ergon_turn *out);
    /* They change the actor at the end of the turn; if the task fails, nothing changes.  False: the
     * task is failed already (BAD_CHANGES), since it is no turn, or only reads, or the state is too
     * large, or no MessagePack value. */
    bool (*state_set)(struct ergon_task *task, const void *value, size_t len);
    bool (*state_int)(struct ergon_task *task, int64_t v);
    bool (*state_bin)(struct ergon_task *task, const void *bytes, size_t len);
    bool (*state_drop)(struct ergon_task *task);
    /* Of a stepped actor: the next step is due after so many ns, or (UINT64_MAX) when it is woken;
     * it is due now; it takes no more turns until it is started. */
    bool (*sleep)(struct ergon_task *task, uint64_t ns);
    bool (*wake)(struct ergon_task *task);
    bool (*stop)(struct ergon_task *task, const char *why);
    /* Of any attempt of a submitted task, and of any turn: sends a message to an actor, which may
     * be the own one, or submits a task.  `params` is one MessagePack value (empty: none),
     * `options` a map of those of tasks (empty: none).  The server does so with the end of the
     * attempt, of all or of none: nothing is submitted twice when it is run again.  One that is
     * refused fails the attempt.  False: the task is failed already (BAD_CHANGES), as a plain call
     * is by this. */
    bool (*tell)(struct ergon_task *task, const char *to, const char *method,
                 struct ergon_bytes params, struct ergon_bytes options);
    bool (*submit)(struct ergon_task *task, const char *method, struct ergon_bytes params,
                   struct ergon_bytes options);
    /* Calls an actor within a turn, as call() and call_start() do methods: `method` is named
     * without its type, `params` and `options` are as for tell().  It goes at once, and what it did
     * stays done, whatever becomes of the turn; the next attempt of the turn's message gets the
     * same answer to the call of the same number.  One is out at a time.  Codes that are not the
     * callee's own, beside those of call(): BUSY (the last one has not ended), DEADLOCK (it would
     * wait for its own end), STOPPED, FENCED, BAD_PARAMS (in no turn; no name TYPE/KEY). */
    void (*call_actor)(struct ergon_task *task, const char *to, const char *method,
                       struct ergon_bytes params, struct ergon_bytes options,
                       struct ergon_outcome *out);
    struct ergon_call *(*call_actor_start)(struct ergon_task *task, const char *to,
                                           const char *method, struct ergon_bytes params,
                                           struct ergon_bytes options);
    /* With the end of the turn the actor has a reminder of this name, in place of the one that it
     * had: it is sent `method` after `in` ns, and with `every` (from 1 ms; 0: once) again and
     * again.  Or it has none of this name. */
    bool (*remind)(struct ergon_task *task, const char *name, const char *method,
                   struct ergon_bytes params, uint64_t in, uint64_t every);
    bool (*forget)(struct ergon_task *task, const char *name);

    /* --- Checkpoints (since 1.6) --- */
    /* Keeps one MessagePack value of at most 64 KiB, a copy, for the next attempt of this task, in
     * place of the last one; a nil: none.  It is on disk a moment later, as far as the task is.
     * False: it was not kept, since it is no such value or too large, or too much is on its way, or
     * this is a turn of an actor, which has its state.  A plain call, which has one attempt, keeps
     * none, and gets true. */
    bool (*checkpoint)(struct ergon_task *task, const void *value, size_t len);
    /* The last checkpoint of an earlier attempt: one raw value.  False: there is none, and `value`
     * is empty. */
    bool (*last_checkpoint)(struct ergon_task *task, struct ergon_bytes *value);

    /* --- Batches (since 1.6): ids, ERGON_TASK_ID_SIZE bytes each; false: there is none --- */
    /* That of which the task is a member. */
    bool (*batch)(struct ergon_task *task, char *buf);
    /* That which has submitted the task, as its first member failed or at its end, and is still
     * kept. */
    bool (*callback_of)(struct ergon_task *task, char *buf);
};

/* What a module is.  Constant data of the module, for ever. */
struct ergon_module_info {
    uint32_t size;                 /* sizeof(struct ergon_module_info) of who filled it */
    uint16_t abi_major, abi_minor; /* that the module was built against */
    const char *name, *version;
    /* Registers the handlers.  `host` stays valid for ever.  0, or -1 to refuse loading (say why
     * through host->log).  Called only when abi_major is the server's. */
    int (*init)(struct ergon_module *module, const struct ergon_host *host);
};

/* The one function that a module exports, under the name "ergon_module". */
typedef const struct ergon_module_info *ergon_module_fn(void);

#ifdef __cplusplus
}
#endif

#endif
