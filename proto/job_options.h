/* The options of a submitted task (inside: of a job), declared once: for the server that reads
 * them, for libergon that packs them, for the command line that takes them, and for the documents,
 * which lint/job_options compares with this table.  Pure data.
 *
 * A row is X(name, type, least, most, expects, letter, flag, argument, help):
 *   - name: of the option on the wire, and of its field in a struct that is made from this table;
 *   - type: of enum job_option_type, without JOB_OPTION_;
 *   - least, most: the bounds of its value, as its type says;
 *   - expects: what the server wants, to be put behind "option NAME: expected ";
 *   - letter, flag, argument, help: on the command line it is -L (0: none) and --FLAG ARGUMENT, and
 *     --help says this of it.
 *
 * How it is meant: whoever looks an option up goes through job_options[]; whoever has a place for
 * each makes an array of offsets beside it, so that an option without a place does not compile:
 *
 *   #define X(name, ...) offsetof(struct job_spec, name),
 *   static const size_t places[JOB_OPTION_COUNT] = {JOB_OPTIONS(X)};
 *   #undef X
 *
 * and one switch over job_options[i].type reads (packs, parses) the value at places[i].  An option
 * is added by a row here, a field in each of those structs, and a line in PROTOCOL.md,
 * docs/tasks.md and ergon(1). */
#ifndef ERGON_PROTO_JOB_OPTIONS_H
#define ERGON_PROTO_JOB_OPTIONS_H

#include <stdint.h>

#include "proto/traceparent.h"

enum {
    JOB_NAME_MAX = 256,  /* bytes of a key, a tenant, a name to coalesce by */
    JOB_AFTER_MAX = 1024 /* tasks that one waits for */
};

enum job_option_type {
    JOB_OPTION_NUMBER,   /* least to most */
    JOB_OPTION_DURATION, /* milliseconds, or text with a unit; least to most are ns */
    JOB_OPTION_SIZE,     /* bytes, or text with a unit; least to most are bytes */
    JOB_OPTION_MOMENT,   /* Unix milliseconds, or RFC 3339 text; no bounds */
    JOB_OPTION_NAME,     /* UTF-8 of least to most bytes without U+0000 */
    JOB_OPTION_LEVEL,    /* of durability: "none", "async", "fsync" or "replicated" */
    JOB_OPTION_LIMIT,    /* a map of key, a name; max, a number of least to most; and take, up to
                            max, if it is given */
    JOB_OPTION_RATE,     /* a map of key and max, and per, a duration of more than 0 */
    JOB_OPTION_IDS,      /* an id of a task, or a list of least to most */
    JOB_OPTION_TRACE,    /* a traceparent: proto/traceparent.h */
    JOB_OPTION_STATE,    /* a tracestate of least to most bytes, with such a trace */
    JOB_OPTION_BATCH     /* the id of a batch */
};

#define JOB_EXPECTS_DURATION "a duration: milliseconds, or text such as \"250ms\", at most 213503d"
#define JOB_EXPECTS_NAME     "a string of 1 to 256 bytes of UTF-8 without U+0000"

/* clang-format off */

/* Of a task that is submitted once: a cron takes none of these. */
#define JOB_OPTIONS_ONCE(X) \
    X(delay, DURATION, 0, UINT64_MAX, JOB_EXPECTS_DURATION, \
      0, "delay", "TIME", "not before then: 30s, 2h") \
    X(at, MOMENT, 0, UINT64_MAX, "Unix milliseconds, or RFC 3339 text with an offset", \
      0, "at", "WHEN", "the same: 09:00, 'tomorrow 9:00', 2026-11-22T09:30:00+01:00, Unix ms") \
    X(key, NAME, 1, JOB_NAME_MAX, JOB_EXPECTS_NAME, \
      0, "task-key", "KEY", "while a task of this key is kept, it is the answer") \
    X(after, IDS, 0, JOB_AFTER_MAX, "an id of a task, or a list of at most 1024", \
      0, "after", "ID[,ID...]", "these must be done first") \
    X(after_any, IDS, 0, JOB_AFTER_MAX, "an id of a task, or a list of at most 1024", \
      0, "after-any", "ID[,ID...]", "these must have ended first, however they did") \
    X(traceparent, TRACE, 0, 0, \
      "a W3C traceparent: 00-TRACE-SPAN-FLAGS in lower-case hexadecimal, no id all zeroes", \
      0, "traceparent", "CONTEXT", "the trace that it belongs to; $TRACEPARENT") \
    X(tracestate, STATE, 1, TRACESTATE_MAX, "1 to 512 bytes of printable ASCII", \
      0, "tracestate", "TEXT", "what others say of that trace; $TRACESTATE") \
    X(batch, BATCH, 0, 0, "the id of a batch, as batch.create answered it", \
      0, "batch", "ID", "the batch that it is a member of")

#define JOB_OPTIONS_EACH(X) \
    X(durable, LEVEL, 0, 0, "\"none\", \"async\", \"fsync\" or \"replicated\"", \
      0, "durable", "LEVEL", "none, async, fsync or replicated") \
    X(priority, NUMBER, 0, 9, "a number from 0 to 9; 9 goes first", \
      'p', "priority", "N", "0 to 9, higher goes first; 5") \
    X(timeout, DURATION, 1, UINT64_MAX, JOB_EXPECTS_DURATION ", more than 0", \
      0, "attempt-timeout", "TIME", "limit of one attempt") \
    X(deadline, DURATION, 0, UINT64_MAX, JOB_EXPECTS_DURATION, \
      0, "deadline", "TIME", "limit of the whole, attempts and waits") \
    X(retries, NUMBER, 0, UINT32_MAX, "a number from 0 to 4294967295", \
      0, "retries", "N", "further attempts after one that failed; 0") \
    X(backoff, DURATION, 0, UINT64_MAX, JOB_EXPECTS_DURATION, \
      0, "backoff", "TIME", "wait before the second attempt, then doubled; 1s") \
    X(backoff_max, DURATION, 0, UINT64_MAX, JOB_EXPECTS_DURATION, \
      0, "backoff-max", "TIME", "the longest such wait; 1h") \
    X(backoff_jitter, NUMBER, 0, 100, "a number from 0 to 100: percent of the back-off", \
      0, "backoff-jitter", "PERCENT", "of the wait that is left to chance; 50") \
    X(coalesce, NAME, 1, JOB_NAME_MAX, JOB_EXPECTS_NAME, \
      0, "coalesce", "NAME", "join an open run of this name") \
    X(limit, LIMIT, 1, UINT32_MAX, \
      "a map of {key: string of 1 to 256 bytes of UTF-8 without U+0000, max: number from 1, " \
      "take: number from 1 to max}, take by choice, and no more", \
      0, "limit", "KEY=MAX[/TAKE]", "at most MAX permits of KEY are taken; it takes 1") \
    X(rate, RATE, 1, UINT32_MAX, \
      "a map of {key: string of 1 to 256 bytes of UTF-8 without U+0000, max: number from 1, " \
      "per: duration}, no more", \
      0, "rate", "KEY=MAX/TIME", "at most MAX starts of KEY in TIME: mail=10/1m") \
    X(tenant, NAME, 1, JOB_NAME_MAX, JOB_EXPECTS_NAME, \
      0, "tenant", "NAME", "whose share it counts to; the principal") \
    X(keep, DURATION, 0, UINT64_MAX, JOB_EXPECTS_DURATION, \
      0, "keep", "TIME", "how long it is kept after its end; 1h, failed: 7d") \
    X(keep_size, SIZE, 0, UINT64_MAX, "a size: bytes, or text such as \"64k\"", \
      0, "keep-size", "SIZE", "a larger result is not kept; 1m")

/* actor.call and actor.tell name the actor beside their options. */
#define JOB_OPTIONS_ACTOR(X) \
    X(actor, NAME, 3, 200, "a name TYPE/KEY of 3 to 200 bytes of UTF-8 without U+0000", \
      0, "actor", "TYPE/KEY", "the actor that it is a message to")

#define JOB_OPTIONS(X) JOB_OPTIONS_ONCE(X) JOB_OPTIONS_EACH(X) JOB_OPTIONS_ACTOR(X)

/* clang-format on */

/* JOB_OPTION_delay, ...: the index in job_options[]. */
enum job_option_id {
#define X(name, ...) JOB_OPTION_##name,
    JOB_OPTIONS(X)
#undef X
        JOB_OPTION_COUNT
};

struct job_option {
    const char *name;
    enum job_option_type type;
    uint64_t least, most;
    const char *expects;
    char letter;
    const char *flag, *argument, *help;
};

extern const struct job_option job_options[JOB_OPTION_COUNT];

#endif
