#include "tests/unit/cluster/fake_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/store/driver.h"

struct fake_rows fake_rows;

struct fake {
    struct engine_node own;
};

struct engine_node *fake_node(const char *name)
{
    for (uint32_t i = 0; i < fake_rows.view.count; i++)
        if (strcmp(fake_rows.view.nodes[i].node, name) == 0)
            return &fake_rows.view.nodes[i];
    return NULL;
}

static bool is_away(const struct fake *f)
{
    return fake_rows.all_away || strcmp(fake_rows.away, f->own.node) == 0;
}

static enum engine_result answer(bool done, char *error, size_t size)
{
    snprintf(error, size, "%s", "");
    return done ? ENGINE_DONE : ENGINE_UNCHANGED;
}

static enum engine_result away(char *error, size_t size)
{
    snprintf(error, size, "connection refused");
    return ENGINE_AWAY;
}

static void *open_fake(const struct engine_setup *setup, char *error, size_t size)
{
    struct fake *f = calloc(1, sizeof *f);

    (void)error;
    (void)size;
    snprintf(f->own.node, sizeof f->own.node, "%s", setup->node);
    snprintf(f->own.address, sizeof f->own.address, "%s", setup->address);
    f->own.incarnation = setup->incarnation;
    f->own.weight = setup->weight;
    return f;
}

static void close_fake(void *engine)
{
    free(engine);
}

static enum engine_result join(void *engine, struct engine_view *view, char *error, size_t size)
{
    struct fake *f = engine;
    struct engine_node *row = fake_node(f->own.node);

    if (is_away(f))
        return away(error, size);
    if (strcmp(fake_rows.refuses, f->own.node) == 0) {
        snprintf(error, size, "another cluster");
        return ENGINE_WRONG;
    }
    if (!row)
        row = &fake_rows.view.nodes[fake_rows.view.count++];
    *row = f->own;
    snprintf(row->state, sizeof row->state, "front");
    if (fake_rows.joins)
        fake_rows.joins();
    *view = fake_rows.view;
    return answer(true, error, size);
}

static struct engine_node *own_row(const struct fake *f)
{
    struct engine_node *row = fake_node(f->own.node);

    return row && row->incarnation == f->own.incarnation && strcmp(row->state, "dead") != 0 ? row
                                                                                            : NULL;
}

static enum engine_result renew(void *engine, char *error, size_t size)
{
    struct fake *f = engine;
    struct engine_node *row = own_row(f);

    if (is_away(f))
        return away(error, size);
    fake_rows.renewals++;
    if (row)
        row->renewals++;
    return answer(row, error, size);
}

static enum engine_result look(void *engine, struct engine_view *view, char *error, size_t size)
{
    struct fake *f = engine;

    if (is_away(f))
        return away(error, size);
    if (fake_rows.refuses_looks) {
        snprintf(error, size, "permission denied");
        return ENGINE_WRONG;
    }
    fake_rows.looks++;
    *view = fake_rows.view;
    return answer(true, error, size);
}

static bool take(const struct fake *f, const struct engine_take_over *take)
{
    struct engine_owner *owner = &fake_rows.view.owner;
    bool back = strcmp(take->dead.node, f->own.node) == 0, free = take->dead.node[0] == '\0';
    struct engine_node *dead = fake_node(take->dead.node);

    if (strcmp(owner->node, take->dead.node) != 0 || owner->epoch != take->epoch ||
        owner->tries >= 2)
        return false;
    if (!back && !free) {
        if (!dead || dead->incarnation != take->dead.incarnation ||
            dead->renewals != take->dead.renewals)
            return false;
        snprintf(dead->state, sizeof dead->state, "dead");
    }
    snprintf(owner->node, sizeof owner->node, "%s", f->own.node);
    owner->incarnation = f->own.incarnation;
    owner->epoch++;
    owner->batch = 0;
    owner->boards += !free && !take->keeps_board;
    owner->tries++;
    return true;
}

static enum engine_result take_over(void *engine, const struct engine_take_over *asked,
                                    struct engine_owner *owner, char *error, size_t size)
{
    struct fake *f = engine;

    if (is_away(f))
        return away(error, size);
    fake_rows.take_overs++;
    bool done = take(f, asked);
    *owner = fake_rows.view.owner;
    if (strcmp(fake_rows.unanswered, f->own.node) == 0)
        return away(error, size);
    return answer(done, error, size);
}

static enum engine_result say(void *engine, const char *state, const char *note, char *error,
                              size_t size)
{
    struct fake *f = engine;
    struct engine_node *row = own_row(f);

    if (is_away(f))
        return away(error, size);
    if (row) {
        bool owns = strcmp(state, "loading") == 0 || strcmp(state, "owner") == 0;
        if (!owns || strcmp(row->state, "draining") != 0)
            snprintf(row->state, sizeof row->state, "%s", state);
        snprintf(row->note, sizeof row->note, "%s", note);
    }
    return answer(row, error, size);
}

static bool obey(const struct fake *f, const char *verb, const char *node)
{
    struct engine_owner *owner = &fake_rows.view.owner;
    struct engine_node *row = fake_node(node);

    if (strcmp(verb, "retry") == 0) {
        owner->tries = 0;
        return true;
    }
    if (!row)
        return false;
    bool leaves = strcmp(verb, "leave_load") == 0;
    if ((leaves || strcmp(verb, "give_up") == 0) && owner->incarnation == f->own.incarnation) {
        owner->node[0] = '\0';
        owner->boards++;
        owner->tries -= leaves && owner->tries > 0;
        return true;
    }
    if (strcmp(verb, "drain") == 0 && strcmp(owner->node, node) == 0) {
        snprintf(row->state, sizeof row->state, "draining");
        return true;
    }
    if (strcmp(verb, "forget") == 0 && strcmp(owner->node, node) != 0) {
        *row = fake_rows.view.nodes[--fake_rows.view.count];
        return true;
    }
    return false;
}

static enum engine_result ask(void *engine, const char *verb, const char *node, char *error,
                              size_t size)
{
    struct fake *f = engine;

    if (is_away(f))
        return away(error, size);
    return answer(obey(f, verb, node), error, size);
}

const struct cluster_engine fake_engine = {.version = STORE_DRIVER_VERSION,
                                           .open = open_fake,
                                           .close = close_fake,
                                           .join = join,
                                           .renew = renew,
                                           .look = look,
                                           .take_over = take_over,
                                           .say = say,
                                           .ask = ask};
