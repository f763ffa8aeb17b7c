/* One step of a member: it joins, renews its row, reads the others' and concludes. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "server/cluster/cluster_private.h"

#define RENEW        AO_S(1)
#define MOVES        AO_MS(100) /* between two looks while the tasks move */
#define REJOIN_FIRST AO_MS(200)
#define REJOIN_MOST  AO_S(2)
#define CLOCK_SAID   AO_S(1)  /* a difference of the clocks that is logged */
#define CLOCK_WRONG  AO_S(10) /* with which this node does not own */

static void end(struct cluster *c, enum cluster_end why)
{
    if (why != CLUSTER_END_DRAIN) {
        c->over = true;
        view_set_role(c, CLUSTER_DEPOSED);
    }
    if (c->ended & (1U << why))
        return;
    c->ended |= 1U << why;
    c->options.ended(c->options.arg, why);
}

/* ---- the engine is away, and comes back ---- */

/* The next step asks it again. */
static void on_away(struct cluster *c, enum engine_result result, const char *error)
{
    static const char again[] = "; it is tried again";
    char why[CLUSTER_NOTE_MAX];

    snprintf(why, sizeof why, "%.*s%s", (int)(sizeof why - sizeof again), error, again);
    if (strcmp(c->said_trouble, why) != 0)
        log_warn(result == ENGINE_AWAY ? "the cluster's database is away"
                                       : "the cluster's database refuses this node",
                 LOG_STR("why", why));
    snprintf(c->said_trouble, sizeof c->said_trouble, "%s", why);
    c->away = true;
    view_trouble(c, why);
}

static void on_answer(struct cluster *c, ao_time now)
{
    if (!c->away)
        return;
    c->away = false;
    lease_reconnect(&c->lease, now);
}

/* All that was asked in a step was answered: renewals may be while looks are refused. */
static void on_whole_step(struct cluster *c)
{
    if (c->said_trouble[0] == '\0')
        return;
    log_info("the cluster's database answers again");
    c->said_trouble[0] = '\0';
    view_trouble(c, "");
}

/* ---- joining ---- */

static const struct engine_node *row_of(const struct cluster *c, const char *node)
{
    for (uint32_t i = 0; i < c->read.count; i++)
        if (strcmp(c->read.nodes[i].node, node) == 0)
            return &c->read.nodes[i];
    return NULL;
}

/* The engine's clock was read some time during the look: half of its length may be no difference.
 */
static void compare_clocks(struct cluster *c, uint64_t before)
{
    uint64_t after = cluster_wall(c), half = after > before ? (after - before) / 2 : 0;
    int64_t ahead = (int64_t)(before + half - c->read.clock);
    uint64_t by = (uint64_t)(ahead < 0 ? -ahead : ahead);

    by = by > half ? by - half : 0;
    ahead = ahead < 0 ? -(int64_t)by : (int64_t)by;
    c->clock_wrong = by >= CLOCK_WRONG;
    pthread_mutex_lock(&c->mutex);
    c->rows.clock = ahead;
    pthread_mutex_unlock(&c->mutex);
    if (by >= CLOCK_SAID && !c->clock_said)
        log_warn("this machine's clock differs from the database's",
                 LOG_STR("ahead", ahead > 0 ? "this machine's" : "the database's"),
                 LOG_NS("by", by),
                 LOG_STR("hint", c->clock_wrong ? "this node owns no tasks until it is right"
                                                : "set the clocks by NTP"));
    c->clock_said = by >= CLOCK_SAID;
}

enum engine_result cluster_join(struct cluster *c, char *error, size_t size)
{
    const struct cluster_options *o = &c->options;
    ao_time sent = cluster_now(c);
    uint64_t before = cluster_wall(c);
    enum engine_result result = o->engine->join(c->engine, &c->read, error, size);

    if (result == ENGINE_AWAY)
        on_away(c, result, error);
    if (result != ENGINE_DONE)
        return result;
    /* Another process of this name may have renewed until this was committed, whenever that was
     * sent: what waits for its end counts from the answer. */
    lease_join(&c->lease, o->node, c->incarnation, o->lease, cluster_now(c));
    c->lease.board = o->board ? o->board(o->arg) : 0;
    on_answer(c, sent);
    c->joined = true;
    c->renew_at = sent + RENEW;
    view_renewed(c, sent);
    compare_clocks(c, before);
    snprintf(c->said_state, sizeof c->said_state, "front");
    c->said_note[0] = '\0';
    log_info("joined the cluster", LOG_STR("cluster", o->cluster), LOG_STR("node", o->node),
             LOG_UINT("incarnation", c->incarnation), LOG_STR("owner", c->read.owner.node),
             LOG_UINT("epoch", c->read.owner.epoch));
    return ENGINE_DONE;
}

/* Returns how long to wait for the next try; 0: it has joined, or never will. */
static ao_time join_again(struct cluster *c)
{
    char error[CLUSTER_NOTE_MAX];
    enum engine_result result = cluster_join(c, error, sizeof error);

    if (result == ENGINE_WRONG) {
        log_error("the cluster's database refuses this node", LOG_STR("why", error));
        end(c, CLUSTER_END_REFUSED);
    }
    if (result != ENGINE_AWAY)
        return 0;
    c->rejoin = c->rejoin == 0 ? REJOIN_FIRST : c->rejoin * 2;
    if (c->rejoin > REJOIN_MOST)
        c->rejoin = REJOIN_MOST;
    return c->rejoin;
}

/* ---- renewals and looks ---- */

static bool look(struct cluster *c)
{
    char error[CLUSTER_NOTE_MAX];
    uint64_t before = cluster_wall(c);
    enum engine_result result = c->options.engine->look(c->engine, &c->read, error, sizeof error);

    if (result != ENGINE_DONE) {
        on_away(c, result, error);
        return false;
    }
    compare_clocks(c, before);
    return true;
}

static bool owns_by_row(const struct cluster *c)
{
    return strcmp(c->read.owner.node, c->options.node) == 0;
}

/* The row of this node, or that of the owner, is not this process's any more; or the store takes
 * nothing more from it. */
static void on_deposed(struct cluster *c)
{
    bool read = look(c);
    const struct engine_node *row = read ? row_of(c, c->options.node) : NULL;

    if (row && row->incarnation != c->incarnation) {
        log_error("another process has this node's name, and came later",
                  LOG_STR("node", c->options.node), LOG_UINT("incarnation", row->incarnation),
                  LOG_STR("address", row->address), LOG_STR("version", row->version),
                  LOG_STR("hint", "give each node a cluster.node of its own"));
        end(c, CLUSTER_END_NAMESAKE);
        return;
    }
    log_error(cluster_role(c) == CLUSTER_FRONT ? "this node is no member any more"
                                               : "this node was deposed",
              LOG_STR("node", c->options.node),
              LOG_STR("why", !read            ? "the database does not say"
                             : !row           ? "it was forgotten"
                             : owns_by_row(c) ? "its store may not be written to any more"
                                              : "it was silent, and another took over"),
              LOG_STR("owner", c->read.owner.node), LOG_UINT("epoch", c->read.owner.epoch));
    end(c, CLUSTER_END_DEPOSED);
}

static void renew(struct cluster *c)
{
    char error[CLUSTER_NOTE_MAX];
    ao_time sent = cluster_now(c);

    c->renew_at = sent + RENEW;
    switch (c->options.engine->renew(c->engine, error, sizeof error)) {
    case ENGINE_DONE:
        on_answer(c, sent);
        lease_renewed(&c->lease, sent);
        view_renewed(c, sent);
        break;
    case ENGINE_UNCHANGED:
        on_deposed(c);
        break;
    case ENGINE_AWAY:
        on_away(c, ENGINE_AWAY, error);
        c->renew_at = sent + RENEW / 4;
        break;
    case ENGINE_WRONG:
        on_away(c, ENGINE_WRONG, error);
        break;
    }
}

/* ---- taking over ---- */

static void on_taken(struct cluster *c, const char *from, const struct engine_owner *owner)
{
    log_info("owner changed", LOG_STR("from", *from ? from : c->view.moving_from),
             LOG_STR("to", owner->node), LOG_UINT("epoch", owner->epoch),
             LOG_STR("board", c->keeps_board ? "kept" : "new"));
    c->read.owner = *owner;
    pthread_mutex_lock(&c->mutex);
    c->view.takeovers++;
    pthread_mutex_unlock(&c->mutex);
    view_set_role(c, CLUSTER_LOADING);
    c->options.take(c->options.arg, owner, c->keeps_board);
}

static void take_over(struct cluster *c, struct engine_take_over *take)
{
    const struct cluster_options *o = &c->options;
    char error[CLUSTER_NOTE_MAX];
    struct engine_owner owner;

    take->keeps_board = strcmp(take->dead.node, o->node) == 0 && c->lease.board == take->epoch;
    c->keeps_board = take->keeps_board;
    enum engine_result result = o->engine->take_over(c->engine, take, &owner, error, sizeof error);
    if (result == ENGINE_DONE)
        on_taken(c, take->dead.node, &owner);
    else if (result != ENGINE_UNCHANGED)
        on_away(c, result, error);
}

/* Another owner in the row is this one's end, unless it hands over. */
static void check_owner(struct cluster *c)
{
    const struct engine_owner *owner = &c->read.owner;

    if (c->drains || (owner->epoch == c->view.epoch && owner->incarnation == c->incarnation))
        return;
    on_deposed(c);
}

static void say_tried(struct cluster *c, bool tried)
{
    if (tried && !c->tried)
        log_error("nobody owns the tasks, and two take-overs have failed",
                  LOG_STR("hint", "see the notes of 'ergon cluster status', then 'ergon cluster "
                                  "retry'"));
    c->tried = tried;
}

/* Returns when to look again at the latest. */
static ao_time conclude(struct cluster *c, ao_time now)
{
    struct engine_take_over take = {0};
    const struct engine_node *own = row_of(c, c->options.node);
    ao_time at = AO_NEVER;

    c->lease.may_own = own && own->weight > 0 && !c->clock_wrong && !c->drains;
    enum lease_choice choice = lease_look(&c->lease, &c->read, now, &take, &at);
    say_tried(c, choice == LEASE_TRIED);
    if (cluster_role(c) != CLUSTER_FRONT)
        check_owner(c);
    else if (choice == LEASE_OWNED)
        on_taken(c, "", &c->read.owner);
    else if (choice == LEASE_TAKE)
        take_over(c, &take);
    if (!c->over)
        view_take(c, c->lease.vacant && cluster_role(c) == CLUSTER_FRONT, now);
    return at;
}

/* ---- what this node says, and what people ask ---- */

static bool is_told_to_drain(const struct cluster *c)
{
    const struct engine_node *own = row_of(c, c->options.node);

    return own && strcmp(own->state, "draining") == 0;
}

static const char *state_of(const struct cluster *c)
{
    enum cluster_role role = cluster_role(c);

    if (role == CLUSTER_LOADING)
        return "loading";
    return c->drains ? "draining" : role == CLUSTER_OWNER ? "owner" : "front";
}

static void say(struct cluster *c)
{
    char error[CLUSTER_NOTE_MAX], note[CLUSTER_NOTE_MAX];

    if (cluster_role(c) == CLUSTER_OWNER && is_told_to_drain(c) && !c->drains) {
        c->drains = true;
        log_info("this node drains", LOG_STR("node", c->options.node));
        end(c, CLUSTER_END_DRAIN);
    }
    const char *state = state_of(c);
    pthread_mutex_lock(&c->mutex);
    snprintf(note, sizeof note, "%s%s%.*s", c->settings, c->settings[0] && c->note[0] ? "\n" : "",
             (int)(sizeof note - sizeof c->settings - 1), c->note);
    pthread_mutex_unlock(&c->mutex);
    if (strcmp(state, c->said_state) == 0 && strcmp(note, c->said_note) == 0)
        return;
    enum engine_result result = c->options.engine->say(c->engine, state, note, error, sizeof error);
    if (result == ENGINE_AWAY || result == ENGINE_WRONG) {
        on_away(c, result, error);
        return;
    }
    snprintf(c->said_state, sizeof c->said_state, "%s", state);
    snprintf(c->said_note, sizeof c->said_note, "%s", note);
}

static bool ask(struct cluster *c, const struct cluster_request *request)
{
    char error[CLUSTER_NOTE_MAX];
    enum engine_result result =
        c->options.engine->ask(c->engine, request->verb, request->node, error, sizeof error);

    if (result == ENGINE_AWAY) {
        on_away(c, result, error);
        return false;
    }
    log_info("asked by a person", LOG_STR("verb", request->verb), LOG_STR("node", request->node),
             LOG_STR("outcome", result == ENGINE_DONE        ? "done"
                                : result == ENGINE_UNCHANGED ? "nothing to do"
                                                             : error));
    return true;
}

/* Returns whether there was one. */
static bool serve_request(struct cluster *c)
{
    pthread_mutex_lock(&c->mutex);
    bool some = c->request_count > 0;
    struct cluster_request request = c->requests[0];
    pthread_mutex_unlock(&c->mutex);
    if (!some || !ask(c, &request))
        return false;
    pthread_mutex_lock(&c->mutex);
    c->request_count--;
    memmove(c->requests, c->requests + 1, c->request_count * sizeof *c->requests);
    pthread_mutex_unlock(&c->mutex);
    return true;
}

/* ---- what the jobs report ---- */

/* A load that broke off says nothing of the rows, and counts as no try: the place is given up once
 * the database answers. */
static void on_load_failed(struct cluster *c)
{
    char error[CLUSTER_NOTE_MAX];
    const struct cluster_engine *engine = c->options.engine;
    const char *verb = c->load_broke ? "leave_load" : "give_up";

    (void)engine->say(c->engine, "front", c->failure, error, sizeof error);
    enum engine_result result = engine->ask(c->engine, verb, c->options.node, error, sizeof error);
    if (result == ENGINE_AWAY && c->load_broke)
        return;
    log_error("the rows cannot be read, and this node gives its place up",
              LOG_STR("why", c->failure));
    if (result != ENGINE_DONE)
        log_warn("the place was not given up", LOG_STR("why", error));
    end(c, CLUSTER_END_LOAD);
}

static void take_reports(struct cluster *c)
{
    pthread_mutex_lock(&c->mutex);
    bool failed = c->load_failed, deposed = c->deposed;
    c->drains |= c->leaves;
    pthread_mutex_unlock(&c->mutex);
    if (failed) {
        on_load_failed(c);
    } else if (deposed) {
        on_deposed(c);
    }
}

/* ---- the step ---- */

static bool moves(const struct cluster *c)
{
    const struct engine_node *owner = row_of(c, c->read.owner.node);

    return cluster_role(c) == CLUSTER_FRONT &&
           (c->view.moving_since > 0 || (owner && strcmp(owner->state, "draining") == 0));
}

/* Returns how long to wait. */
static ao_time member_step(struct cluster *c)
{
    ao_time now = cluster_now(c), at = AO_NEVER;

    if (now >= c->renew_at)
        renew(c);
    if (!c->over && !c->away && look(c))
        at = conclude(c, cluster_now(c));
    while (!c->over && !c->away && serve_request(c))
        ;
    if (!c->over && !c->away)
        say(c);
    if (!c->away)
        on_whole_step(c);
    now = cluster_now(c);
    if (at > c->renew_at)
        at = c->renew_at;
    if (moves(c) && !c->away && at > now + MOVES)
        at = now + MOVES;
    return at > now ? at - now : 0;
}

ao_time cluster_step(struct cluster *c)
{
    ao_time wait = 0;

    if (!c->over)
        take_reports(c);
    if (!c->joined && !c->over)
        wait = join_again(c);
    if (wait == 0 && !c->over)
        wait = member_step(c);
    view_tell(c);
    return c->over ? AO_NEVER : wait;
}
