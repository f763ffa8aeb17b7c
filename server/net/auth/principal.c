#include "server/net/auth/principal.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Immutable but for the count of references. */
struct principal {
    /* Taking a reference needs no order: who takes one holds one.  Dropping releases what this
     * thread did with the principal, and the last drop acquires it: one acq_rel in
     * principal_unref() is both sides. */
    _Atomic uint32_t references;
    const char *methods; /* comma-separated patterns */
    char name[];         /* and behind it the patterns */
};

const struct principal *principal_new(const char *name, const char *methods)
{
    size_t name_size = strlen(name) + 1;
    size_t methods_size = strlen(methods) + 1;
    struct principal *p = malloc(sizeof *p + name_size + methods_size);

    if (p == NULL)
        return NULL;
    atomic_init(&p->references, 1);
    memcpy(p->name, name, name_size);
    memcpy(p->name + name_size, methods, methods_size);
    p->methods = p->name + name_size;
    return p;
}

const char *principal_name(const struct principal *p)
{
    return p->name;
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
