#include "tests/unit/runtime/stage.h"

#include <stdio.h>
#include <string.h>

struct stage stage;

void stage_open(void)
{
    memset(&stage, 0, sizeof stage);
    virtual_init(&stage.v);
    stage.home = virtual_open(&stage.v, "home");
    stage.away = virtual_open(&stage.v, "away");
}

void stage_close(void)
{
    virtual_fini(&stage.v);
}

int stage_set_up(void **state)
{
    stage_open();
    return 0;
}

int stage_tear_down(void **state)
{
    stage_close();
    return 0;
}

void stage_say(const char *format, ...)
{
    struct stage *s = &stage;
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

void stage_expect_at(const char *expected, const char *file, int line)
{
    _assert_string_equal(stage.text, expected, file, line);
    stage.length = 0;
    stage.text[0] = '\0';
}

static enum ao_verdict step(struct ao *self)
{
    return actor_of(self)->step(self);
}

static void faulted(struct ao *self, int code, const char *text)
{
    stage_say("%c faulted: %d %s", actor_of(self)->name, code, text);
}

static void retired(struct ao *self)
{
    actor_of(self)->retired = true;
}

static const struct ao_class actor_class = {
    .name = "actor", .step = step, .faulted = faulted, .retired = retired};

struct actor *actor_enter_at(struct activator *home, char name,
                             enum ao_verdict (*body)(struct ao *self))
{
    assert_true(stage.entered < STAGE_ACTORS);
    struct actor *a = &stage.actors[stage.entered++];
    *a = (struct actor){.name = name, .step = body, .patience = AO_NEVER};
    ao_init(&a->ao, &actor_class, home);
    assert_int_equal(ao_activate(&a->ao), 0);
    return a;
}

struct actor *actor_enter(char name, enum ao_verdict (*body)(struct ao *self))
{
    return actor_enter_at(stage.home, name, body);
}

struct actor *actor_of(struct ao *ao)
{
    return ao_of(ao, struct actor, ao);
}

void actor_say(struct actor *a, const char *what)
{
    stage_say("%c %s", a->name, what);
}

void actor_say_outcome(struct actor *a, const char *what)
{
    stage_say("%c %s %s", a->name, what, ao_wait_outcome_text(a->wait.outcome));
}
