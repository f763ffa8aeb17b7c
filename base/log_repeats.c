#include "base/log_repeats.h"

#include <string.h>

void log_repeats_init(struct log_repeats *r, uint32_t most, uint64_t window)
{
    memset(r, 0, sizeof *r);
    r->most = most;
    r->window = window;
}

/* Each connection of a peer has a port of its own, but for those on a Unix socket ("unix:UID"). */
static const char *port_of(const struct log_field *f)
{
    bool has_port = f->kind == LOG_KIND_PEER && strncmp(f->str, "unix:", 5) != 0;

    return has_port ? strrchr(f->str, ':') : NULL;
}

void log_source(const struct log_field *fields, char *source)
{
    const struct log_field *f = fields;

    while (f->kind != LOG_KIND_END && !(log_is_text(f->kind) && f->str))
        f++;
    const char *text = f->kind == LOG_KIND_END ? "" : f->str;
    const char *port = port_of(f);
    size_t length = port ? (size_t)(port - text) : strnlen(text, LOG_SOURCE_MAX);
    if (length >= LOG_SOURCE_MAX)
        length = LOG_SOURCE_MAX - 1;
    memcpy(source, text, length);
    source[length] = '\0';
}

/* FNV-1a: an attacker who makes sources collide gets no more than the shared place. */
static uint64_t hash(enum log_level level, const char *event, const char *source)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ (uintptr_t)event ^ ((uint64_t)level << 56);

    for (; *source; source++)
        h = (h ^ (uint8_t)*source) * UINT64_C(0x100000001b3);
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return h >> 32;
}

static bool is_over(const struct log_repeats *r, const struct log_repeat *p, uint64_t now)
{
    return now - p->began >= r->window;
}

/* The one that its kind shares, with kinds that meet it there. */
static struct log_repeat *shared_place(struct log_repeats *r, uint64_t now, enum log_level level,
                                       const char *event)
{
    struct log_repeat *p = &r->at[LOG_REPEATS_PLACES + hash(level, event, "") % LOG_REPEATS_SHARED];

    if (p->written == 0) {
        p->event = event;
        p->level = level;
    } else if (!is_over(r, p, now)) {
        p->event = p->event == event && p->level == level ? event : NULL;
        p->level = level > p->level ? level : p->level;
    }
    return p;
}

/* Its place; or a free one, which it takes; or a shared one. */
static struct log_repeat *place_of(struct log_repeats *r, uint64_t now, enum log_level level,
                                   const char *event, const char *source)
{
    enum { SETS = LOG_REPEATS_PLACES / LOG_REPEATS_WAYS };
    struct log_repeat *set = &r->at[hash(level, event, source) % SETS * LOG_REPEATS_WAYS];
    struct log_repeat *found = NULL;

    for (struct log_repeat *p = set; p < set + LOG_REPEATS_WAYS; p++) {
        if (p->written > 0 && p->event == event && p->level == level &&
            strcmp(p->source, source) == 0)
            return p;
        if (!found && (p->written == 0 || (p->held == 0 && is_over(r, p, now))))
            found = p;
    }
    if (!found)
        return shared_place(r, now, level, event);
    *found = (struct log_repeat){.level = level, .event = event, .began = now};
    memccpy(found->source, source, 0, sizeof found->source);
    return found;
}

static void take_sum(struct log_repeats *r, struct log_repeat *p, uint64_t now, struct log_sum *sum)
{
    *sum = (struct log_sum){.level = (enum log_level)p->level,
                            .event = p->event,
                            .times = p->held,
                            .within = now - p->began};
    memcpy(sum->source, p->source, sizeof sum->source);
    r->open -= p->held > 0;
    p->held = 0;
    p->written = 0;
}

bool log_repeats_admit(struct log_repeats *r, uint64_t now, enum log_level level, const char *event,
                       const char *source, struct log_sum *sum)
{
    sum->times = 0;
    if (r->most == 0)
        return true;
    struct log_repeat *p = place_of(r, now, level, event, source);
    if (p->written > 0 && is_over(r, p, now))
        take_sum(r, p, now, sum);
    if (p->written == 0) { /* of a shared place its last window may have been another kind's */
        p->event = event;
        p->level = level;
        p->began = now;
    }
    if (p->written < r->most) {
        p->written++;
        return true;
    }
    r->open += p->held == 0;
    p->held++;
    return false;
}

bool log_repeats_due(struct log_repeats *r, uint64_t now, bool all, struct log_sum *sum)
{
    for (struct log_repeat *p = r->at; r->open > 0 && p < r->at + LOG_REPEATS_ALL; p++)
        if (p->held > 0 && (all || is_over(r, p, now))) {
            take_sum(r, p, now, sum);
            return true;
        }
    return false;
}

uint64_t log_repeats_next(const struct log_repeats *r)
{
    uint64_t next = UINT64_MAX;

    if (r->open == 0)
        return next;
    for (const struct log_repeat *p = r->at; p < r->at + LOG_REPEATS_ALL; p++)
        if (p->held > 0 && p->began + r->window < next)
            next = p->began + r->window;
    return next;
}
