#include "server/system/backtrace.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

void backtrace_prepare(void)
{
    struct backtrace b;

    b.count = backtrace(b.frames, BACKTRACE_MAX);
}

/* Where the thread was when the signal came; NULL on an unknown processor. */
static void *place_of(const void *context)
{
    const ucontext_t *c = context;
#if defined(__x86_64__)
    return (void *)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (void *)c->uc_mcontext.pc;
#else
    (void)c;
    return NULL;
#endif
}

/* A return address may be the first byte of the next function; the call is one byte before it. */
static void call_places(struct backtrace *b, bool first_is_exact)
{
    for (int i = first_is_exact; i < b->count; i++)
        b->frames[i] = (char *)b->frames[i] - 1;
}

void backtrace_take(struct backtrace *b, const void *context)
{
    void *place = context ? place_of(context) : NULL;
    int handler = 0;

    b->count = backtrace(b->frames, BACKTRACE_MAX);
    for (int i = 0; place && i < b->count && handler == 0; i++)
        if (b->frames[i] == place)
            handler = i;
    b->count -= handler;
    memmove(b->frames, b->frames + handler, (size_t)b->count * sizeof *b->frames);
    call_places(b, handler > 0);
}

/* ---- text ---- */

struct text {
    char *at;
    size_t room;
};

static void put(struct text *t, const char *s)
{
    for (; *s && t->room > 1; s++, t->room--)
        *t->at++ = *s;
}

void backtrace_address(uintptr_t address, char buf[BACKTRACE_ADDRESS_MAX])
{
    int shift = 8 * (int)sizeof address - 4;

    while (shift > 0 && address >> shift == 0)
        shift -= 4;
    *buf++ = '0';
    *buf++ = 'x';
    for (; shift >= 0; shift -= 4)
        *buf++ = "0123456789abcdef"[address >> shift & 15];
    *buf = '\0';
}

static void put_hex(struct text *t, uintptr_t v)
{
    char digits[BACKTRACE_ADDRESS_MAX];

    backtrace_address(v, digits);
    put(t, digits);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void put_frame(struct text *t, void *frame)
{
    Dl_info info;

    if (!dladdr(frame, &info) || !info.dli_fname) {
        put_hex(t, (uintptr_t)frame);
        return;
    }
    put(t, base_name(info.dli_fname));
    put(t, "+");
    put_hex(t, (uintptr_t)frame - (uintptr_t)info.dli_fbase);
    if (!info.dli_sname)
        return;
    put(t, "(");
    put(t, info.dli_sname);
    put(t, ")");
}

void backtrace_text(const struct backtrace *b, char *buf, size_t size)
{
    enum { FRAME_LEAST = 40 }; /* bytes; with less room left no frame is written */
    struct text t = {.at = buf, .room = size};

    for (int i = 0; i < b->count && t.room > FRAME_LEAST; i++) {
        if (i > 0)
            put(&t, " ");
        put_frame(&t, b->frames[i]);
    }
    *t.at = '\0';
}
