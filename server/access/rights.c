#include "server/access/rights.h"

#include <stdatomic.h>
#include <stdlib.h>

/* --- Patterns --- */

static const char any_tenant[] = "task.any";
static const char any_worker[] = "worker.any";
static const char offers[] = "worker.offer.";

/* No pattern grants it. */
static bool is_over_others(struct span name)
{
    return span_is(name, any_tenant) || span_is(name, any_worker);
}

/* To offer a method, or a pattern that grants that and nothing else. */
static bool is_of_offers(struct span name)
{
    return name.len >= sizeof offers - 1 && memcmp(name.at, offers, sizeof offers - 1) == 0;
}

static bool pattern_fits(struct span pattern, struct span name)
{
    size_t len = pattern.len;

    if (len > 0 && pattern.at[len - 1] == '*')
        return name.len >= len - 1 && (len == 1 || memcmp(pattern.at, name.at, len - 1) == 0);
    return span_equal(pattern, name);
}

/* The next pattern of a list; false at its end. */
static bool next_pattern(const char **at, struct span *pattern)
{
    if (**at == '\0')
        return false;
    *pattern = span_of(*at, strcspn(*at, ","));
    *at += pattern->len;
    *at += **at == ',';
    return true;
}

static bool list_names(const char *list, struct span name)
{
    struct span pattern;

    while (next_pattern(&list, &pattern))
        if (span_equal(pattern, name))
            return true;
    return false;
}

static bool list_fits(const char *list, struct span name)
{
    struct span pattern;

    while (next_pattern(&list, &pattern))
        if (pattern_fits(pattern, name))
            return true;
    return false;
}

/* Does it grant the right to offer some method? */
static bool list_has_offers(const char *list)
{
    struct span pattern;

    while (next_pattern(&list, &pattern))
        if (is_of_offers(pattern))
            return true;
    return false;
}

static bool list_offers(const char *list, struct span name)
{
    struct span pattern;

    while (next_pattern(&list, &pattern))
        if (is_of_offers(pattern) && pattern_fits(pattern, name))
            return true;
    return false;
}

bool patterns_fit(const char *patterns, struct span name)
{
    if (is_over_others(name))
        return list_names(patterns, name);
    return is_of_offers(name) ? list_offers(patterns, name) : list_fits(patterns, name);
}

bool patterns_seem_to_grant(const char *patterns)
{
    struct span name = span_text(any_tenant);

    return list_fits(patterns, name) && !list_names(patterns, name);
}

/* Whatever a pattern of `list` fits, one of `wider` does. */
static bool list_within(const char *list, const char *wider)
{
    struct span pattern;

    while (next_pattern(&list, &pattern))
        if (!patterns_fit(wider, pattern))
            return false;
    return true;
}

/* --- Roles --- */

struct role_table {
    /* Taking a reference needs no order: its taker holds one already.  The last drop acquires what
     * the others released: one acq_rel in role_table_unref() is both sides. */
    _Atomic uint32_t references;
    size_t count;
    struct role roles[];
};

enum { TEXTS = sizeof(struct role) / sizeof(char *) };

static const char **texts_of(struct role *role)
{
    return (const char **)role;
}

struct role_table *role_table_new(const struct role *roles, size_t count)
{
    struct role_table *t = calloc(1, sizeof *t + count * sizeof t->roles[0]);
    bool good = t != NULL;

    if (!t)
        return NULL;
    atomic_init(&t->references, 1);
    t->count = count;
    for (size_t i = 0; i < count; i++) {
        struct role from = roles[i];
        for (size_t k = 0; k < TEXTS; k++) {
            const char *text = texts_of(&from)[k];
            texts_of(&t->roles[i])[k] = text ? strdup(text) : NULL;
            good = good && (!text || texts_of(&t->roles[i])[k]);
        }
    }
    if (good)
        return t;
    role_table_unref(t);
    return NULL;
}

struct role_table *role_table_ref(struct role_table *t)
{
    if (t)
        atomic_fetch_add_explicit(&t->references, 1, memory_order_relaxed);
    return t;
}

void role_table_unref(struct role_table *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->references, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < TEXTS; k++)
            free((void *)(uintptr_t)texts_of(&t->roles[i])[k]);
    free(t);
}

size_t role_table_count(const struct role_table *t)
{
    return t ? t->count : 0;
}

static const struct role *role_named(const struct role_table *t, const char *name)
{
    for (size_t i = 0; i < role_table_count(t); i++)
        if (strcmp(t->roles[i].name, name) == 0)
            return &t->roles[i];
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_role(const struct role *a, const struct role *b)
{
    return same_text(a->members, b->members) && same_text(a->methods, b->methods) &&
           same_text(a->tenants, b->tenants) && same_text(a->queues, b->queues) &&
           same_text(a->keys, b->keys) && same_text(a->tenant, b->tenant);
}

void role_table_compare(const struct role_table *before, const struct role_table *after,
                        void (*tell)(void *arg, const struct role *role, const char *how),
                        void *arg)
{
    for (size_t i = 0; i < role_table_count(before); i++)
        if (!role_named(after, before->roles[i].name))
            tell(arg, &before->roles[i], "removed");
    for (size_t i = 0; i < role_table_count(after); i++) {
        const struct role *is = &after->roles[i], *was = role_named(before, is->name);
        if (!was || !same_role(was, is))
            tell(arg, is, was ? "changed" : "added");
    }
}

/* --- Rights --- */

struct grant {
    const char *methods;                 /* of the rights' own texts, or of a role */
    const char *tenants, *queues, *keys; /* as of a role */
    bool any;                            /* it names task.any */
};

struct rights {
    _Atomic uint32_t references; /* as of a table of roles */
    bool all_methods, unconfigured;
    uint64_t id;
    struct role_table *roles;  /* a reference; NULL: none */
    struct rights_owner owner; /* its texts are in `own`, or in `roles` */
    char *own;                 /* texts: the tenant, and behind it the name, and the methods */
    uint32_t count;
    struct grant grants[];
};

static uint64_t new_id(void)
{
    static _Atomic uint64_t last; /* orders nothing: a number that no other has */

    return 1 + atomic_fetch_add_explicit(&last, 1, memory_order_relaxed);
}

static void add_grant(struct rights *r, const struct role *role)
{
    r->grants[r->count++] = (struct grant){.methods = role->methods,
                                           .tenants = role->tenants,
                                           .queues = role->queues,
                                           .keys = role->keys,
                                           .any = list_names(role->methods, span_text(any_tenant))};
    if (list_names(role->methods, span_text("*")))
        r->all_methods = true;
}

/* True: it has one. */
static bool add_roles(struct rights *r, const struct rights_options *o)
{
    bool said = false;

    for (size_t i = 0; i < role_table_count(o->roles); i++) {
        const struct role *role = &o->roles->roles[i];
        if (!list_fits(role->members, span_text(o->name)))
            continue;
        add_grant(r, role);
        if (role->tenant && !said)
            r->owner.tenant = role->tenant;
        said |= role->tenant != NULL;
    }
    return r->count > 0;
}

/* If so, principals without a role have no such right. */
static bool a_role_offers(const struct role_table *t)
{
    for (size_t i = 0; i < role_table_count(t); i++)
        if (list_has_offers(t->roles[i].methods))
            return true;
    return false;
}

static void add_offers(struct rights *r)
{
    static const char all[] = "worker.offer.*";

    add_grant(r, &(struct role){.methods = all});
}

const struct rights *rights_new(const struct rights_options *o)
{
    size_t most = role_table_count(o->roles) + 2, tenant_size = strlen(o->tenant) + 1;
    size_t name_size = strlen(o->name) + 1;
    const char *methods = o->everything ? "*,task.any,worker.any,worker.offer.*" : o->methods;
    size_t methods_size = methods ? strlen(methods) + 1 : 0;
    struct rights *r = calloc(1, sizeof *r + most * sizeof r->grants[0]);

    if (!r)
        return NULL;
    atomic_init(&r->references, 1);
    r->id = new_id();
    r->unconfigured = o->everything;
    r->roles = role_table_ref(o->roles);
    r->own = malloc(tenant_size + name_size + methods_size);
    if (!r->own) {
        rights_unref(r);
        return NULL;
    }
    r->owner.tenant = memcpy(r->own, o->tenant, tenant_size);
    r->owner.name = memcpy(r->own + tenant_size, o->name, name_size);
    bool roles_alone = add_roles(r, o) && o->unless_role;
    if (methods && !roles_alone) {
        char *own = memcpy(r->own + tenant_size + name_size, methods, methods_size);
        add_grant(r, &(struct role){.methods = own});
    }
    if (o->offers && !roles_alone && !a_role_offers(o->roles))
        add_offers(r);
    return r;
}

const struct rights *rights_ref(const struct rights *r)
{
    struct rights *counted = (struct rights *)(uintptr_t)r;

    atomic_fetch_add_explicit(&counted->references, 1, memory_order_relaxed);
    return r;
}

void rights_unref(const struct rights *r)
{
    struct rights *counted = (struct rights *)(uintptr_t)r;

    if (!r || atomic_fetch_sub_explicit(&counted->references, 1, memory_order_acq_rel) != 1)
        return;
    role_table_unref(counted->roles);
    free(counted->own);
    free(counted);
}

struct rights_owner rights_owner(const struct rights *r)
{
    return r->owner;
}

uint64_t rights_id(const struct rights *r)
{
    return r->id;
}

bool rights_all_methods(const struct rights *r)
{
    return r->all_methods;
}

bool rights_may(const struct rights *r, struct span method)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (patterns_fit(r->grants[i].methods, method))
            return true;
    return false;
}

static bool fits_or_all(const char *list, struct span name)
{
    return !list || name.len == 0 || list_fits(list, name);
}

bool rights_cover(const struct rights *r, struct span method, const struct rights_object *o,
                  bool others)
{
    bool own = span_is(o->tenant, r->owner.tenant);

    for (uint32_t i = 0; i < r->count; i++) {
        const struct grant *g = &r->grants[i];
        bool tenant = own || (others && g->any) || (g->tenants && list_fits(g->tenants, o->tenant));
        if (tenant && patterns_fit(g->methods, method) && fits_or_all(g->queues, o->queue) &&
            fits_or_all(g->keys, o->key))
            return true;
    }
    return false;
}

bool rights_cover_queue(const struct rights *r, struct span method, struct span queue)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (patterns_fit(r->grants[i].methods, method) && fits_or_all(r->grants[i].queues, queue))
            return true;
    return false;
}

/* Does a list name something beside the own tenant? */
static bool names_other(const char *tenants, const char *own)
{
    struct span pattern;

    while (next_pattern(&tenants, &pattern))
        if (!span_is(pattern, own))
            return true;
    return false;
}

bool rights_reach_others(const struct rights *r, struct span method, bool others)
{
    for (uint32_t i = 0; i < r->count; i++) {
        const struct grant *g = &r->grants[i];
        bool reaches =
            (others && g->any) || (g->tenants && names_other(g->tenants, r->owner.tenant));
        if (reaches && patterns_fit(g->methods, method))
            return true;
    }
    return false;
}

bool rights_unconfigured(const struct rights *r)
{
    return r->unconfigured;
}

bool rights_grant(const struct rights *r, uint32_t index, struct rights_grant *out)
{
    if (index >= r->count)
        return false;
    const struct grant *g = &r->grants[index];
    *out = (struct rights_grant){
        .methods = g->methods, .tenants = g->tenants, .queues = g->queues, .keys = g->keys};
    return true;
}

static bool within_or_all(const char *list, const char *wider)
{
    return !wider || (list && list_within(list, wider));
}

static bool tenants_within(const struct grant *g, const struct grant *wider)
{
    return wider->any || (!g->any && (!g->tenants ||
                                      (wider->tenants && list_within(g->tenants, wider->tenants))));
}

static bool reach_within(const struct grant *g, const struct grant *wider)
{
    return tenants_within(g, wider) && within_or_all(g->queues, wider->queues) &&
           within_or_all(g->keys, wider->keys);
}

/* An empty method: of all that the grant names. */
static bool is_allowed(const struct grant *g, const struct grant *wider, struct span method)
{
    if (method.len > 0)
        return patterns_fit(wider->methods, method) && reach_within(g, wider);
    return list_within(g->methods, wider->methods) && reach_within(g, wider);
}

bool rights_within(const struct rights *r, const struct rights *wider, struct span method,
                   struct span other)
{
    if (strcmp(r->owner.tenant, wider->owner.tenant) != 0)
        return false;
    for (uint32_t i = 0; i < r->count; i++) {
        bool found = method.len > 0 && !patterns_fit(r->grants[i].methods, method);
        for (uint32_t k = 0; k < wider->count && !found; k++)
            found = is_allowed(&r->grants[i], &wider->grants[k], other);
        if (!found)
            return false;
    }
    return true;
}
