/* Structured log records: a level, a constant event text, and typed fields.
 *
 *     log_warn("step too long", LOG_STR("handler", name), LOG_NS("took", ns));
 *
 * The first text of a record is its source: who errs stands before how.
 *
 * Any thread may log.  The sink is process-wide and set once, before the first thread starts;
 * without one, records at LOG_WARN and above go to stderr as logfmt.  Fields are borrowed for the
 * time of the call.  Below the threshold nothing is evaluated but the comparison. */
#ifndef ERGON_BASE_LOG_H
#define ERGON_BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* LOG_AUDIT, of base/audit.h alone: above any threshold, and never summed up. */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_AUDIT };

enum log_kind {
    LOG_KIND_END,
    LOG_KIND_STR,
    LOG_KIND_PEER, /* a text that ends with ":PORT" */
    LOG_KIND_INT,
    LOG_KIND_UINT,
    LOG_KIND_NS
};

enum { LOG_RECORD_MAX = 4096 }; /* bytes of a record, with its newline */

struct log_field {
    const char *key; /* constant, a bare word */
    enum log_kind kind;
    union {
        const char *str; /* may be NULL: the field is left out */
        int64_t i;
        uint64_t u; /* LOG_KIND_NS: nanoseconds */
    };
};

/* Since the start. */
struct log_figures {
    uint64_t records;  /* accepted: written, or still to be */
    uint64_t repeated; /* left out, since they repeat others, and summed up */
    uint64_t dropped;  /* lost: there was no room, or they could not be written */
    uint64_t waiting;  /* bytes that are still to be written */
};

struct log_sink {
    enum log_level threshold;
    /* Called on any thread, concurrently.  `fields` ends with LOG_KIND_END. */
    void (*write)(void *arg, enum log_level level, const char *event,
                  const struct log_field *fields);
    void *arg;
    /* A record after which the process may end: returns when it is out, and what came before it, or
     * when that takes too long.  May be called in a handler of a signal.  NULL: `write` does so. */
    void (*write_last)(void *arg, enum log_level level, const char *event,
                       const struct log_field *fields);
    void (*figures)(void *arg, struct log_figures *out); /* any thread; NULL: there are none */
};

/* How records look. */
struct log_form {
    bool json;   /* else logfmt */
    bool levels; /* each begins with its level as journald reads it: "<6>", sd-daemon(3) */
};

/* Writes each record to stderr with one write(2), with the time. */
struct log_sink log_stderr_sink(struct log_form form, enum log_level threshold);

/* Not thread-safe; before the threads start, or after they have ended.  `sink` is copied. */
void log_set_sink(const struct log_sink *sink);

/* An enum log_level.  Read by the macros, written by log_set_sink() and log_set_threshold() only.
 * Orders nothing (relaxed on both sides): a record more or less at a change is harmless. */
extern _Atomic(int) log_threshold;

void log_set_threshold(enum log_level level); /* any thread, any time */

/* Are records of this level written? */
static inline bool log_has(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&log_threshold, memory_order_relaxed);
}

/* One record to the sink, whatever its level: for the macros. */
void log_write(enum log_level level, const char *event, const struct log_field *fields);

/* As log_sink.write_last, at LOG_ERROR. */
void log_write_last(const char *event, const struct log_field *fields);

/* Any thread.  Zeros where the sink has none. */
struct log_figures log_figures(void);

static inline bool log_is_text(enum log_kind kind)
{
    return kind == LOG_KIND_STR || kind == LOG_KIND_PEER;
}

/* One record as logfmt or as a JSON object, without the newline; truncated to fit.  `now` is
 * wall-clock ns since 1970, 0 leaves the time out.  Returns the length written.  Pure. */
int log_format_logfmt(char *buf, int size, uint64_t now, enum log_level level, const char *event,
                      const struct log_field *fields);
int log_format_json(char *buf, int size, uint64_t now, enum log_level level, const char *event,
                    const struct log_field *fields);

/* The same, of either form.  A record is one line, whatever its texts have in them, so it has one
 * level in front. */
int log_format(char *buf, int size, uint64_t now, struct log_form form, enum log_level level,
               const char *event, const struct log_field *fields);

/* "<6>": constant. */
const char *log_journal_level(enum log_level level);

#define LOG_STR(k, v)  ((struct log_field){.key = (k), .kind = LOG_KIND_STR, .str = (v)})
#define LOG_PEER(k, v) ((struct log_field){.key = (k), .kind = LOG_KIND_PEER, .str = (v)})
#define LOG_INT(k, v)  ((struct log_field){.key = (k), .kind = LOG_KIND_INT, .i = (int64_t)(v)})
#define LOG_UINT(k, v) ((struct log_field){.key = (k), .kind = LOG_KIND_UINT, .u = (uint64_t)(v)})
#define LOG_NS(k, v)   ((struct log_field){.key = (k), .kind = LOG_KIND_NS, .u = (uint64_t)(v)})

#define LOG_AT(level, event, ...)                                                                  \
    do {                                                                                           \
        if (log_has(level))                                                                        \
            log_write((level), (event), (struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){0}});      \
    } while (0)
#define log_debug(event, ...) LOG_AT(LOG_DEBUG, event __VA_OPT__(, ) __VA_ARGS__)
#define log_info(event, ...)  LOG_AT(LOG_INFO, event __VA_OPT__(, ) __VA_ARGS__)
#define log_warn(event, ...)  LOG_AT(LOG_WARN, event __VA_OPT__(, ) __VA_ARGS__)
#define log_error(event, ...) LOG_AT(LOG_ERROR, event __VA_OPT__(, ) __VA_ARGS__)

/* An error after which the process may end. */
#define log_last(event, ...)                                                                       \
    log_write_last((event), (struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){0}})

#endif
