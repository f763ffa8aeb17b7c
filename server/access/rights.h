/* The rights of a principal, and the roles that grant them.
 *
 * A right is a grant: patterns of methods, and of the tenants, queues and keys that they may be
 * used on.  Grants are not mixed: with the right to cancel tasks of one tenant and to inspect those
 * of another, a principal may not cancel the latter.  A pattern is a name, or its beginning and
 * '*'.  Lists of patterns are texts with commas between them.
 *
 * A right over others (task.any: tasks and crons of all tenants; worker.any: workers of all
 * principals) is granted by its own full name only: no pattern fits it.  The right to offer a
 * method as a worker, worker.offer.METHOD, is granted by that name, or by a pattern that begins
 * with worker.offer. itself.
 *
 * task.params is a right without a method: to see the contents of tasks, which are parameters,
 * results and tracebacks.  Patterns grant it as they do methods.
 *
 * Rights and tables of roles are immutable and counted: any thread may use what it holds a
 * reference to, and take or drop references.  The last one frees. */
#ifndef ERGON_ACCESS_RIGHTS_H
#define ERGON_ACCESS_RIGHTS_H

#include "base/span.h"

/* --- Patterns; all pure --- */

/* Does one of the patterns fit the name?  Of a right over others only its own name does, of a right
 * to offer only what begins with worker.offer. */
bool patterns_fit(const char *patterns, struct span name);
/* Do they seem to fit task.any, as `*` does, and do not name it? */
bool patterns_seem_to_grant(const char *patterns);

/* --- Roles --- */

/* All texts are lists of patterns but `name` and `tenant`.  `tenant` owns the tasks of the members,
 * unless they name another. */
struct role {
    const char *name;
    const char *members; /* of names of principals, "token:alice" */
    const char *methods;
    const char *tenants; /* whose tasks, beside its own; NULL: its own only */
    const char *queues;  /* by method; NULL: all */
    const char *keys;    /* NULL: all; tasks without a key, too, in any case */
    const char *tenant;  /* NULL: no say */
};

struct role_table;

/* `roles` is copied.  It has one reference.  NULL without memory. */
struct role_table *role_table_new(const struct role *roles, size_t count);
struct role_table *
role_table_ref(struct role_table *t); /* returns t; NULL is fine here and below */
void role_table_unref(struct role_table *t);
size_t role_table_count(const struct role_table *t); /* 0 of NULL */

/* Tells of each role that the one table has and the other has not, or has otherwise: `how` is
 * "added", "removed" or "changed"; `role` is valid during the call. */
void role_table_compare(const struct role_table *before, const struct role_table *after,
                        void (*tell)(void *arg, const struct role *role, const char *how),
                        void *arg);

/* --- Rights --- */

#define RIGHT_CONTENTS "task.params"

struct rights;

struct rights_options {
    struct role_table *roles; /* a reference is taken; NULL: there are none */
    const char *name;         /* of the principal: its roles are those with it as a member */
    const char *tenant;       /* its own, if no role says otherwise */
    const char *methods;      /* a grant of its own: for its own tenant; NULL: none */
    bool unless_role;         /* `methods` and `offers` count only if it has no role */
    bool offers;              /* it may offer all methods, unless a role grants that to anybody */
    bool everything;          /* no rights are configured at all: so it may do all */
};

/* NULL without memory. */
const struct rights *rights_new(const struct rights_options *options);
const struct rights *rights_ref(const struct rights *r); /* returns r */
void rights_unref(const struct rights *r);               /* NULL is fine */

/* Whose they are: the principal, and its tenant.  Both last as long as the rights. */
struct rights_owner {
    const char *name, *tenant;
};
struct rights_owner rights_owner(const struct rights *r);
/* Unique in this process: what was found out about these rights may be kept by it. */
uint64_t rights_id(const struct rights *r);
/* May every method be called that is no right over others? */
bool rights_all_methods(const struct rights *r);
bool rights_may(const struct rights *r, struct span method);

/* A task, or what is to be done with one. */
struct rights_object {
    struct span tenant;
    struct span queue; /* its method; empty: any */
    struct span key;   /* empty: it has none */
};

/* May the method be used on it, by one grant?  `others`: task.any counts. */
bool rights_cover(const struct rights *r, struct span method, const struct rights_object *o,
                  bool others);
/* The same of a queue, whatever tenants have tasks in it. */
bool rights_cover_queue(const struct rights *r, struct span method, struct span queue);
/* May it be used on some that are not of its own tenant, whichever grant says so?  True when in
 * doubt, as of a pattern that fits the own one. */
bool rights_reach_others(const struct rights *r, struct span method, bool others);
/* No rights are configured at all, so tenants are mere names (`everything`). */
bool rights_unconfigured(const struct rights *r);

/* What it may, grant by grant; the texts are as those of a role, and last as long as the rights. */
struct rights_grant {
    const char *methods, *tenants, *queues, *keys;
};
bool rights_grant(const struct rights *r, uint32_t index, struct rights_grant *out); /* is it? */

/* Is all that `r` may do with `method`, or, where that is empty, with any, allowed by `wider` with
 * `other`, which is mostly the same?  False when in doubt. */
bool rights_within(const struct rights *r, const struct rights *wider, struct span method,
                   struct span other);

#endif
