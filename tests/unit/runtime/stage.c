#include "tests/unit/runtime/stage.h"

#include <stdio.h>
#include <string.h>

void stage_open(struct stage *s, void *props)
{
    memset(s, 0, sizeof *s);
    s->props = props;
    virtual_init(&s->v);
    s->home = virtual_open(&s->v, "home");
    s->away = virtual_open(&s->v, "away");
}

void stage_close(struct stage *s)
{
    virtual_fini(&s->v);
}

void stage_say(struct stage *s, const char *format, ...)
{
    size_t room = sizeof s->text - s->length;
    va_list args;
    va_start(args, format);
    int n = snprintf(s->text + s->length, room, "[%llu] ", (unsigned long long)s->v.now / 1000000);
    n += vsnprintf(s->text + s->length + n, room - (size_t)n, format, args);
    va_end(args);
    s->length += (size_t)n;
    assert_true(s->length + 2 < sizeof s->text);
    s->text[s->length++] = '\n';
    s->text[s->length] = '\0';
}

void stage_expect_at(struct stage *s, const char *expected, const char *file, int line)
{
    _assert_string_equal(s->text, expected, file, line);
    s->length = 0;
    s->text[0] = '\0';
}

static enum ao_verdict step(struct ao *self)
{
    return actor_of(self)->step(self);
}

static void faulted(struct ao *self, int code, const char *text)
{
    stage_say(actor_of(self)->stage, "%c faulted: %d %s", actor_of(self)->name, code, text);
}

static void retired(struct ao *self)
{
    actor_of(self)->retired = true;
}

static const struct ao_class actor_class = {
    .name = "actor", .step = step, .faulted = faulted, .retired = retired};

void actor_enter(struct actor *a, struct stage *s, struct activator *home, char name,
                 enum ao_verdict (*body)(struct ao *self))
{
    *a = (struct actor){.stage = s, .name = name, .step = body, .patience = AO_NEVER};
    ao_init(&a->ao, &actor_class, home);
    assert_int_equal(ao_activate(&a->ao), 0);
}

struct actor *actor_of(struct ao *ao)
{
    return ao_of(ao, struct actor, ao);
}

void actor_say(struct actor *a, const char *what)
{
    stage_say(a->stage, "%c %s", a->name, what);
}

void actor_say_outcome(struct actor *a, const char *what)
{
    stage_say(a->stage, "%c %s %s", a->name, what, ao_wait_outcome_text(a->wait.outcome));
}
