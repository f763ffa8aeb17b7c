#include "sim/play.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/client.h"
#include "sim/deeds.h"
#include "sim/disk.h"
#include "sim/limits.h"
#include "sim/lives.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/params.h"
#include "sim/points.h"
#include "sim/promises.h"
#include "sim/schedule.h"
#include "sim/trace.h"
#include "sim/wire.h"

enum {
    PLAYERS_MAX = 4,       /* as by seed */
    PATIENCE_MS = 7200000, /* of clients; a burst has an hour */
    FAR_MS = 3600 * 1000
};

struct player {
    uint32_t index;
    uint32_t next; /* line */
    bool idle;
    struct sim_burst burst;
    uint64_t labels[SIM_BURST_MAX]; /* of its requests; 0: none */
};

static const struct sim_script *script;
static struct player players[PLAYERS_MAX];
static uint32_t player_count;
static bool has_others;
static struct {
    uint32_t from, to; /* its lines */
    uint64_t began;
    bool serves;
    bool stalled[SIM_LINES_MAX]; /* those stalls have been */
} life;

static uint64_t due(const struct sim_line *l)
{
    return life.began + l->at * 1000;
}

/* --- Stalls --- */

/* Of the lines that are due, the first for this point. */
static uint64_t stall(const char *point)
{
    for (uint32_t n = life.from; life.serves && n < life.to; n++) {
        const struct sim_line *l = &script->lines[n];
        if (l->kind != SIM_LINE_STALL || life.stalled[n] || due(l) > sim_now() ||
            strcmp(l->point, point) != 0 || strcmp(l->fiber, sim_fiber_word()) != 0)
            continue;
        life.stalled[n] = true;
        sim_tell("away for %" PRIu64 " us", l->number);
        return l->number * 1000;
    }
    return 0;
}

/* --- Clients --- */

static bool is_for(const struct player *p, const struct sim_line *l)
{
    return (l->kind == SIM_LINE_REQUEST || l->kind == SIM_LINE_LEAVE) && l->client == p->index;
}

static const struct sim_line *next_of(struct player *p)
{
    while (p->next < life.to && !is_for(p, &script->lines[p->next]))
        p->next++;
    return p->next < life.to ? &script->lines[p->next] : NULL;
}

static enum sim_deed deed_of(const char *method)
{
    static const struct {
        const char *method;
        enum sim_deed deed;
    } known[] = {{"task.submit", SIM_SUBMIT},
                 {"task.cancel", SIM_CANCEL},
                 {"task.retry", SIM_RETRY},
                 {"task.get", SIM_GET}};
    for (size_t n = 0; n < sizeof known / sizeof *known; n++)
        if (strcmp(known[n].method, method) == 0)
            return known[n].deed;
    if (strncmp(method, "work.", 5) == 0)
        return SIM_WORK_CALL;
    return SIM_OTHER;
}

static struct sim_task *find_task(const char *id)
{
    for (uint32_t n = 0; id && n < sim_task_count; n++)
        if (strcmp(sim_tasks[n].id, id) == 0)
            return &sim_tasks[n];
    return NULL;
}

static void describe_submit(struct sim_request *r, const struct sim_params *p)
{
    uint64_t limit = sim_params_max(p, "limit", SIM_LIMIT_MOVING);
    uint64_t rate = sim_params_max(p, "rate", SIM_RATE);
    if (limit > 0)
        sim_limit_asked(limit, r);
    else if (rate > 0)
        sim_rate_asked(rate, r);
    snprintf(r->run, sizeof r->run, "%s", sim_params_option(p, "coalesce"));
    r->brief = sim_params_number(p, "keep") == 1;
}

/* What the promises have to know of the request. */
static void describe(struct sim_request *r, const struct sim_params *p, struct sim_task *task)
{
    r->task = task;
    r->serial = sim_params_serial(p, r->deed == SIM_SUBMIT);
    if (r->deed == SIM_SUBMIT)
        describe_submit(r, p);
    if (!r->task)
        return;
    r->mark = sim_end_mark(r->task);
    if (r->deed == SIM_RETRY)
        sim_asked_retry(r->task);
}

/* What the promises take for granted: a run that others join does not begin by itself. */
static bool is_fit(enum sim_deed deed, const struct sim_params *p, const struct sim_task *task)
{
    if (deed == SIM_CANCEL || deed == SIM_RETRY || deed == SIM_GET)
        return task != NULL;
    return !*sim_params_option(p, "coalesce") || sim_params_number(p, "delay") >= FAR_MS;
}

static void put(struct player *p, const struct sim_line *l)
{
    struct sim_params *params = sim_params_read(l->params);
    struct sim_task *task = params ? find_task(sim_params_task(params)) : NULL;
    enum sim_deed deed = deed_of(l->method);
    if (params && is_fit(deed, params, task)) {
        struct sim_request *r = sim_burst_add(&p->burst, deed, l->method, sim_params_count(params));
        sim_params_put(params, &p->burst.out);
        p->labels[p->burst.count - 1] = l->label;
        describe(r, params, task);
    }
    if (params)
        sim_params_free(params);
}

/* Gathers the requests that are due at one time.  True: the client leaves after them. */
static bool gather(struct player *p)
{
    const struct sim_line *l = next_of(p);
    uint64_t at = l->at;
    sim_burst_clear(&p->burst);
    for (; l && l->at == at && p->burst.count < SIM_BURST_MAX; l = next_of(p)) {
        p->next++;
        if (l->kind == SIM_LINE_LEAVE)
            return true;
        put(p, l);
    }
    return false;
}

static void note_label(const struct sim_request *r, uint64_t label)
{
    if (label && r->answered && r->error.len == 0)
        sim_label(label, sim_member_text(r->result, "id"));
}

static bool send_burst(struct player *p, struct sim_link *l)
{
    bool leaves = gather(p), good = !leaves;
    if (leaves)
        sim_burst_send(&p->burst, l);
    else
        good = sim_burst_run(&p->burst, l);
    for (uint32_t n = 0; n < p->burst.count; n++) {
        sim_client_heed(p->index, &p->burst.requests[n]);
        note_label(&p->burst.requests[n], p->labels[n]);
    }
    return good;
}

static bool can_go_on(struct player *p)
{
    return life.serves && sim_node_up() && next_of(p);
}

static void serve_connection(struct player *p)
{
    struct sim_link *l = sim_node_connect();
    bool good = true;
    while (good && can_go_on(p)) {
        uint64_t until = due(next_of(p));
        if (sim_now() < until)
            sim_wait_for(players, until);
        else
            good = send_burst(p, l);
    }
    sim_net_leave(l);
    sim_memory_wait();
}

static void run_player(void *arg)
{
    struct player *p = arg;
    for (;;) {
        p->idle = !can_go_on(p);
        if (p->idle)
            sim_wait_for(players, SIM_NEVER);
        else
            serve_connection(p);
    }
}

static bool all_idle(void)
{
    for (uint32_t n = 0; n < player_count; n++)
        if (!players[n].idle)
            return false;
    return true;
}

static void wait_for_players(void)
{
    uint64_t until = sim_now() + SIM_MS(PATIENCE_MS);
    while (!all_idle() && sim_now() < until)
        sim_sleep_for(SIM_MS(1));
    if (!all_idle())
        sim_finding("answers: clients wait for two hours");
}

/* --- Lives --- */

/* The line that ends this life; the end of the script for the last. */
static uint32_t end_from(uint32_t line)
{
    while (line < script->count && script->lines[line].kind != SIM_LINE_END)
        line++;
    return line;
}

static uint64_t number_of(enum sim_line_kind kind, uint32_t from, uint32_t to, uint64_t otherwise)
{
    for (uint32_t n = from; n < to; n++)
        if (script->lines[n].kind == kind)
            return script->lines[n].number;
    return otherwise;
}

static void begin_life(uint32_t from)
{
    life.from = from;
    life.to = end_from(from);
    sim_begin_life(number_of(SIM_LINE_START, life.from, life.to, 0));
    life.began = sim_now();
    life.serves = true;
    for (uint32_t n = 0; n < player_count; n++) {
        players[n].next = from;
        players[n].idle = false;
    }
    sim_wake_all(players);
    sim_others_wake();
}

/* The power goes as the lines say, or the node ends at its time. */
static void wait_for_end(const struct sim_line *end)
{
    for (uint32_t n = life.from; n < life.to; n++) {
        const struct sim_line *l = &script->lines[n];
        if (l->kind != SIM_LINE_CUT)
            continue;
        if (due(l) > sim_now())
            sim_sleep_for(due(l) - sim_now());
        sim_disk_cut_at(l->number);
    }
    while (!sim_disk_is_cut() && due(end) > sim_now())
        sim_sleep_for(due(end) - sim_now() < SIM_MS(1) ? due(end) - sim_now() : SIM_MS(1));
}

static void end_life(const struct sim_line *end)
{
    sim_forget_said();
    wait_for_end(end);
    if (end->quiet) {
        wait_for_players();
        sim_note_all();
    }
    sim_end_life(end->how);
    life.serves = false;
    sim_wake_all(players);
    sim_others_wake();
    wait_for_players();
}

static void run(void *arg)
{
    (void)arg;
    for (uint32_t n = 0; n < player_count; n++) {
        char name[SIM_WORD + 8];
        players[n].index = n;
        players[n].next = script->count;
        snprintf(name, sizeof name, "client %u", n);
        sim_spawn(SIM_WORLD, name, run_player, &players[n]);
    }
    if (has_others)
        sim_others_spawn();
    begin_life(0);
    while (life.to < script->count) {
        end_life(&script->lines[life.to]);
        begin_life(life.to + 1);
    }
    wait_for_players();
    sim_end_in_calm();
}

static void configure(const struct sim_script *s)
{
    struct sim_flags f;
    sim_flags_plain(&f);
    for (uint32_t n = 0; n < s->count; n++)
        if (s->lines[n].kind == SIM_LINE_FLAG)
            sim_flag_set(&f, s->lines[n].method, s->lines[n].params);
    sim_configure(&f);
}

void sim_play(const struct sim_script *s)
{
    script = s;
    for (uint32_t n = 0; n < s->count; n++)
        if (s->lines[n].client >= player_count)
            player_count = s->lines[n].client + 1;
    require(player_count <= PLAYERS_MAX, "a script has too many clients");
    sim_chance_plain(number_of(SIM_LINE_SCHEDULE, 0, s->count, 0));
    sim_schedule_shape();
    uint64_t others = number_of(SIM_LINE_OTHERS, 0, s->count, 0);
    if (others) {
        sim_chance_of_others(others);
        sim_chance(SIM_SHAPE); /* those of the schedule, as by seed */
        sim_chance(SIM_SHAPE);
        sim_chance(SIM_SHAPE);
        sim_others_shape();
    }
    has_others = others != 0;
    if (sim_chance_is_plain(SIM_SCHEDULE))
        sim_stalls_by(stall);
    sim_disk_open_as(number_of(SIM_LINE_TEAR, 0, s->count, 1),
                     number_of(SIM_LINE_DISK, 0, s->count, 8));
    configure(s);
    sim_spawn(SIM_WORLD, "world", run, NULL);
    sim_run();
}
