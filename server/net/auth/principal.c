#include "server/net/auth/principal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Immutable but for the count of references. */
struct principal {
    /* Taking a reference needs no order: who takes one holds one.  Dropping releases what this
     * thread did with the principal, and the last drop acquires it: one acq_rel in
     * principal_unref() is both sides. */
    _Atomic uint32_t references;
    const char *methods; /* comma-separated patterns */
    const char *tenant;
    char name[]; /* with its mechanism; and behind it the other texts */
};

static const char *const mechanisms[] = {[PRINCIPAL_TOKEN] = "token:",
                                         [PRINCIPAL_CERT] = "cert:",
                                         [PRINCIPAL_UNIX] = "unix:",
                                         [PRINCIPAL_ADDRESS] = "address:"};
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

const struct principal *principal_new(enum principal_mechanism how, const char *name,
                                      const char *tenant, const char *methods)
{
    char full[PRINCIPAL_NAME_MAX + 16];

    principal_full_name(how, name, full, sizeof full);
    if (tenant == NULL)
        tenant = default_tenant(how, full);
    size_t name_size = strlen(full) + 1, tenant_size = strlen(tenant) + 1;
    size_t methods_size = strlen(methods) + 1;
    struct principal *p = malloc(sizeof *p + name_size + tenant_size + methods_size);

    if (p == NULL)
        return NULL;
    atomic_init(&p->references, 1);
    memcpy(p->name, full, name_size);
    p->tenant = memcpy(p->name + name_size, tenant, tenant_size);
    p->methods = memcpy(p->name + name_size + tenant_size, methods, methods_size);
    return p;
}

const char *principal_name(const struct principal *p)
{
    return p->name;
}

const char *principal_tenant(const struct principal *p)
{
    return p->tenant;
}

static bool pattern_fits(const char *pattern, size_t len, struct span method)
{
    if (len > 0 && pattern[len - 1] == '*')
        return method.len >= len - 1 && (len == 1 || memcmp(pattern, method.at, len - 1) == 0);
    return span_equal(span_of(pattern, len), method);
}

bool principal_may(const struct principal *p, struct span method)
{
    const char *at = p->methods;

    if (at[0] == '*' && at[1] == '\0')
        return true;
    while (*at != '\0') {
        size_t len = strcspn(at, ",");
        if (pattern_fits(at, len, method))
            return true;
        at += len;
        at += *at == ',';
    }
    return false;
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

    if (p != NULL && atomic_fetch_sub_explicit(&counted->references, 1, memory_order_acq_rel) == 1)
        free(counted);
}
