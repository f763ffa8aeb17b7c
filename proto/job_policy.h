/* The options of a task that its spec, the job and its row hold alike, and hand on as a whole. Pure
 * data.
 *
 * A row is X(name, type, kind, column, comment, unsaid):
 *   - name, type: of the option on the wire (job_options.h), and of its member in C;
 *   - kind, column, comment: of its column in the table `options` of the store, as
 * server/store/rows.c has them;
 *   - unsaid: what holds if nothing is said.
 *
 * An option that needs more than this (a text, a key, one that is nil in the file, one that stands
 * in the job itself) has a member of its own in each of the three. */
#ifndef ERGON_PROTO_JOB_POLICY_H
#define ERGON_PROTO_JOB_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* `keep` of which nothing is said: JOB_KEEP, or what the settings say of a task that failed. */
#define JOB_KEEP_UNSAID UINT64_MAX
#define JOB_KEEP        (UINT64_C(3600) * 1000000000)

/* clang-format off */
/* Durations are ns, sizes bytes. */
#define JOB_POLICY(X) \
    /* before the second attempt; doubled before each further one, up to the most */ \
    X(backoff, uint64_t, U64, "backoff_ns", NULL, UINT64_C(1000000000)) \
    X(backoff_max, uint64_t, U64, "backoff_max_ns", NULL, UINT64_C(3600) * 1000000000) \
    /* percent of the back-off that are left to chance; 0 to 100 */ \
    X(backoff_jitter, uint8_t, U8, "jitter", "per cent of the back-off", 50) \
    /* how long it is kept after its end */ \
    X(keep, uint64_t, U64, "keep_ns", "-1: none was said", JOB_KEEP_UNSAID) \
    /* a larger result is not kept */ \
    X(keep_size, uint64_t, U64, "keep_size", "bytes", UINT64_C(1) << 20)
/* clang-format on */

#define JOB_POLICY_MEMBER(name, type, ...) type name;
struct job_policy {
    JOB_POLICY(JOB_POLICY_MEMBER)
};

/* For a struct that has each as a member, and all as `policy`. */
#define JOB_POLICY_MEMBERS                                                                         \
    union {                                                                                        \
        struct job_policy policy;                                                                  \
        struct {                                                                                   \
            JOB_POLICY(JOB_POLICY_MEMBER)                                                          \
        };                                                                                         \
    };

#define JOB_POLICY_UNSAID_OF(name, type, kind, column, comment, unsaid) .name = unsaid,
#define JOB_POLICY_UNSAID                                                                          \
    {                                                                                              \
        JOB_POLICY(JOB_POLICY_UNSAID_OF)                                                           \
    }

/* Something else is said of one of them. */
static inline bool job_policy_is_said(const struct job_policy *p)
{
#define X(name, type, kind, column, comment, unsaid) p->name != (unsaid) ||
    return JOB_POLICY(X) false;
#undef X
}

#endif
