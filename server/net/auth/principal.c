#include "server/net/auth/principal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Immutable but for the count of references. */
struct principal {
    /* Taking a reference needs no order: its taker holds one already.  Dropping releases what this
     * thread did with the principal, and the last drop acquires it: one acq_rel in
     * principal_unref() is both sides. */
    _Atomic uint32_t references;
    enum principal_mechanism how;
    const struct rights *rights; /* a reference */
    uint64_t expires;            /* Unix ns; 0: never */
    uint8_t token[SHA256_SIZE];  /* PRINCIPAL_TOKEN: its hash */
    char name[];                 /* with its mechanism */
};

static const char *const mechanisms[] = {
    [PRINCIPAL_TOKEN] = "token:",       [PRINCIPAL_CERT] = "cert:",
    [PRINCIPAL_UNIX] = "unix:",         [PRINCIPAL_ADDRESS] = "address:",
    [PRINCIPAL_DATABASE] = "database:", [PRINCIPAL_MODULE] = "module:"};
enum { MECHANISMS = sizeof mechanisms / sizeof mechanisms[0] };

bool principal_is_full_name(const char *text)
{
    for (int i = 0; i < MECHANISMS; i++)
        if (strncmp(text, mechanisms[i], strlen(mechanisms[i])) == 0)
            return true;
    return false;
}

void principal_full_name(enum principal_mechanism how, const char *name, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s", mechanisms[how], name);
}

/* Of `full`, which the mechanism and the name were made into. */
static const char *default_tenant(enum principal_mechanism how, const char *full)
{
    const char *plain = full + strlen(mechanisms[how]);

    if (how == PRINCIPAL_ADDRESS)
        return PRINCIPAL_TENANT_OF_ALL;
    /* The name of a certificate may be that of a token or a user, and so may not be a tenant's. */
    return how == PRINCIPAL_CERT || strcmp(plain, PRINCIPAL_TENANT_OF_ALL) == 0 ? full : plain;
}

static const struct rights *rights_of(const struct principal_options *o, const char *full)
{
    const char *tenant = o->tenant ? o->tenant : default_tenant(o->how, full);
    const struct rights_options options = {.roles = o->roles,
                                           .name = full,
                                           .tenant = tenant,
                                           .methods = o->methods,
                                           .unless_role = o->how != PRINCIPAL_TOKEN,
                                           .offers = o->offers,
                                           .everything = o->everything};

    return rights_new(&options);
}

const struct principal *principal_new(const struct principal_options *o)
{
    char full[PRINCIPAL_NAME_MAX + 16];

    principal_full_name(o->how, o->name, full, sizeof full);
    size_t name_size = strlen(full) + 1;
    struct principal *p = calloc(1, sizeof *p + name_size);

    if (p == NULL)
        return NULL;
    atomic_init(&p->references, 1);
    memcpy(p->name, full, name_size);
    p->how = o->how;
    p->expires = o->expires;
    if (o->token != NULL)
        memcpy(p->token, o->token, sizeof p->token);
    p->rights = rights_of(o, full);
    if (p->rights != NULL)
        return p;
    free(p);
    return NULL;
}

const char *principal_name(const struct principal *p)
{
    return p->name;
}

const char *principal_plain_name(const struct principal *p)
{
    return p->name + strlen(mechanisms[p->how]);
}

enum principal_mechanism principal_how(const struct principal *p)
{
    return p->how;
}

const uint8_t *principal_token(const struct principal *p)
{
    return p->token;
}

uint64_t principal_expires(const struct principal *p)
{
    return p->expires;
}

const char *principal_tenant(const struct principal *p)
{
    return rights_owner(p->rights).tenant;
}

const struct rights *principal_rights(const struct principal *p)
{
    return p->rights;
}

bool principal_may(const struct principal *p, struct span method)
{
    return rights_may(p->rights, method);
}

const struct principal *principal_ref(const struct principal *p)
{
    struct principal *counted = (struct principal *)(uintptr_t)p;

    atomic_fetch_add_explicit(&counted->references, 1, memory_order_relaxed);
    return p;
}

void principal_unref(const struct principal *p)
{
    struct principal *counted = (struct principal *)(uintptr_t)p;

    if (p == NULL || atomic_fetch_sub_explicit(&counted->references, 1, memory_order_acq_rel) != 1)
        return;
    rights_unref(counted->rights);
    free(counted);
}
