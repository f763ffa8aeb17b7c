/* What hosts of actors answer, and the names and policies that peers and files have.
 *
 * An input begins with a byte that says which: the changes of one turn, a MessagePack value; the
 * name of an actor, and that of a method; the row of a type; or the turns of some actors, one after
 * another, whose hosts answer the bytes of the input, fail, are lost, or return too late.
 *
 * What is refused says why and changes nothing.  What is accepted is within its bounds; and
 * whatever the hosts of some actors do, an actor that none of them had is as it was. */
#include "base/utf8.h"
#include "proto/scanner.h"
#include "server/jobs/actors/actor_types.h"
#include "server/jobs/actors/residents.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/persist/actor_rows.h"
#include "server/rpc/spec_options.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_rest.h"
#include "tests/support/jobs_world.h"
#include "tests/support/memory_store.h"

enum { CHANGES_MAX = 8192, STATE_MAX = 64, STEPS_MAX = 24 };

/* --- The changes of a turn --- */

static void check_message(const struct turn_message *m)
{
    const struct span type = actor_type_of_name(m->to);
    CHECK(m->params.len > 0 && value_length(m->params) == m->params.len);
    CHECK(m->options.len == 0 || value_length(m->options) == m->options.len);
    CHECK(m->method.len > 0 && utf8_valid(m->method));
    CHECK(m->to.len == 0 || utf8_is_name(m->to, ACTOR_NAME_MAX));
    if (m->to.len > 0)
        CHECK(type.len > 0 && m->method.len > type.len + 1 && m->method.len <= ACTOR_METHOD_MAX &&
              memcmp(m->method.at, type.at, type.len) == 0 && m->method.at[type.len] == '.');
    struct job_spec spec = {JOB_SPEC_DEFAULTS, .method = m->method, .actor = m->to};
    char error[200] = "";
    CHECK(spec_read_turn_options(m->options, &spec, error, sizeof error) || error[0]);
}

static void check_taken(const struct attempt_turn *turn)
{
    const struct turn_changes *c = &turn->changes;
    uint32_t count = 0;
    CHECK(!c->state || (c->state->len <= turn->state_max && !c->drops &&
                        value_length(blob_bytes(c->state)) == c->state->len));
    CHECK(!c->wakes || c->sleep == TURN_SLEEP_UNSAID);
    CHECK(!c->stops || (c->stop[0] && utf8_valid(span_text(c->stop))));
    CHECK(memchr(c->stop, '\0', sizeof c->stop));
    for (const struct turn_message *m = c->messages.first; m; m = m->next, count++)
        check_message(m);
    CHECK(count == c->messages.count && count <= TURN_MESSAGES_MAX);
    CHECK(c->messages.bytes <= TURN_MESSAGES_BYTES);
}

static void check_none(const struct attempt_turn *turn)
{
    const struct turn_changes *c = &turn->changes;
    CHECK(!c->state && !c->drops && !c->wakes && !c->stops && c->messages.count == 0 &&
          !c->messages.first && c->sleep == TURN_SLEEP_UNSAID);
}

/* As a connection takes them: one whole value.  Empty: they are none. */
static struct span scanned(struct span bytes)
{
    static const struct scan_limits limits = {.message_max = CHANGES_MAX, .depth_max = 30};
    struct scanner s;
    scanner_init(&s);
    bool whole = bytes.len > 0 && scanner_run(&s, &limits, bytes) == SCAN_WHOLE;
    return span_of(bytes.at, whole ? s.done : 0);
}

static bool take(struct attempt_turn *turn, struct span changes, char error[static 200])
{
    error[0] = '\0';
    bool good = turn_read_changes(turn, changes, error, 200);
    CHECK(good == (error[0] == '\0'));
    if (good)
        check_taken(turn);
    else
        check_none(turn);
    if (turn->reads)
        check_none(turn);
    return good;
}

static void check_changes(void)
{
    char error[200];
    uint8_t kind = fuzz_byte();
    struct span changes = scanned(fuzz_rest());
    struct span state = kind & 1 ? span_text("\x05") : (struct span){0};
    struct attempt_turn *turn = turn_new(span_text("cart/42"), state, NULL);
    turn->reads = kind & 2;
    turn->state_max = kind & 4 ? STATE_MAX : ACTOR_STATE_MAX;
    if (changes.len > 0 && take(turn, changes, error))
        CHECK(take(turn, changes, error)); /* an answer that comes twice */
    turn_free(turn);
}

/* --- Names, and rows of types --- */

static void check_names(void)
{
    struct span name = fuzz_bytes(fuzz_byte()), method = fuzz_bytes(fuzz_byte());
    struct span type = actor_type_of_name(name), of = actor_type_of_method(method);
    CHECK(type.len == 0 || (!memchr(type.at, '/', type.len) && type.len + 1 < name.len));
    CHECK(of.len == 0 || (of.len < method.len && method.at[of.len] == '.'));
    struct turn_messages all = {0};
    const struct turn_message_parts parts = {.to = name, .method = method};
    if (!turn_messages_add(&all, &parts))
        check_message(all.first);
    turn_messages_drop(&all);
    if (row_check_message(name, method))
        return;
    const struct store_actor row = {.type = type, .key = span_behind(name, type.len + 1)};
    CHECK(span_equal(type, of) && !row_check_actor(&row));
}

static void check_type(void)
{
    struct store_actor_type row = {.type = fuzz_bytes(fuzz_byte()), .policy = fuzz_rest()};
    struct actor_policy is, again;
    struct span methods;
    struct pack p;
    if (row_check_actor_type(&row))
        return;
    CHECK(!type_row_read(&row, &is, &methods));
    const struct actor_offer offer = {.type = row.type};
    pack_init(&p);
    type_row_pack(&p, &is, &offer);
    row.policy = pack_bytes(&p);
    CHECK(is.durable == ACTOR_DURABLE_UNSAID || !row_check_actor_type(&row));
    CHECK(is.durable == ACTOR_DURABLE_UNSAID ||
          (!type_row_read(&row, &again, &methods) && again.intensity == is.intensity &&
           again.state == is.state && again.window == is.window && again.mailbox == is.mailbox &&
           strcmp(again.supervisor, is.supervisor) == 0));
    pack_fini(&p);
}

/* --- The turns of some actors --- */

static struct jobs_world w;

static void offer(uint8_t kind)
{
    static const char *const names[] = {"cart.add", "cart.read", "cart.step"};
    static const unsigned is[] = {ACTOR_METHOD, ACTOR_METHOD | ACTOR_READS,
                                  ACTOR_METHOD | ACTOR_STEP};
    struct method *found[3];
    struct actor_offer offer = {
        .type = span_text("cart"), .policy = {ACTOR_POLICY_DEFAULTS}, .methods = found};
    offer.policy.durable = kind & 1 ? ACTOR_DURABLE_FSYNC : ACTOR_DURABLE_NONE;
    offer.policy.on_failure = (kind >> 2) % 3;
    offer.policy.messages = 4;
    offer.policy.state = STATE_MAX;
    if (kind & 16)
        strcpy(offer.policy.supervisor, "cart/boss");
    for (; offer.count < (kind & 2 ? 3u : 2u); offer.count++) {
        CHECK(registry_intern(w.registry, span_text(names[offer.count]), &found[offer.count]) ==
              ERGON_OK);
        method_set_actor(found[offer.count], is[offer.count]);
    }
    CHECK(w.source.typed(w.source.arg, &offer));
    for (uint32_t n = 0; n < offer.count; n++)
        world_offer(&w, names[n], true, "");
    w.room[POOL_OF_WORKERS] = 4;
}

/* Of a type that is not stepped: a step that comes later steps all actors of its type. */
static void offer_safe(uint8_t kind)
{
    struct method *found[1];
    struct actor_offer offer = {
        .type = span_text("safe"), .policy = {ACTOR_POLICY_DEFAULTS}, .methods = found, .count = 1};
    offer.policy.durable = kind & 1 ? ACTOR_DURABLE_FSYNC : ACTOR_DURABLE_NONE;
    CHECK(registry_intern(w.registry, span_text("safe.add"), &found[0]) == ERGON_OK);
    method_set_actor(found[0], ACTOR_METHOD);
    CHECK(w.source.typed(w.source.arg, &offer));
    world_offer(&w, "safe.add", true, "");
}

static void post(const char *to, const char *method)
{
    char text[JOB_TEXT_MAX] = "";
    struct submitted done;
    struct job_spec spec = {JOB_SPEC_DEFAULTS, .method = span_text(method),
                            .params = span_text("\x90"), .actor = span_text(to)};
    spec.durable = DURABLE_NONE;
    enum ergon_error error = world_submit(&w, &spec, &done, text, sizeof text);
    CHECK(error == ERGON_OK || text[0]);
    jobs_world_pass(&w, AO_MS(5));
}

/* The one that is out at place n; NULL: none is. */
static struct world_run *run_at(uint8_t n)
{
    uint32_t count = 0;
    for (struct world_run *r = w.runs; r; r = r->next)
        count++;
    struct world_run *r = w.runs;
    for (uint32_t at = count > 0 ? n % count : 0; r && at > 0; at--)
        r = r->next;
    return r;
}

static void answer(struct world_run *r)
{
    char error[200];
    struct span bytes = fuzz_bytes(fuzz_byte()), changes = scanned(bytes);
    if (bytes.len > 0 && changes.len == 0)
        world_lose(r, LOSS_ALONE, "it sent what is no message");
    else if (r->run.turn && changes.len > 0 && !take(r->run.turn, changes, error))
        world_fail(r, "BAD_CHANGES", error);
    else
        world_finish(r, "\x2a");
    jobs_world_settle(&w);
}

static void operate(uint8_t kind)
{
    static const struct operation_class *const classes[] = {
        &operation_actor_get,  &operation_actor_explain, &operation_actor_stop,
        &operation_actor_wake, &operation_actor_start,   &operation_actor_drop};
    struct operation *op = world_operation(&w, classes[kind % (sizeof classes / sizeof *classes)]);
    op->actor.name = span_text(kind & 32 ? "cart/1" : "cart/2");
    op->actor.with_state = kind & 64;
    world_give(&w, op);
    jobs_world_settle(&w);
}

static void act(void)
{
    uint8_t what = fuzz_byte();
    struct world_run *r = run_at(what >> 3);
    switch (what % 8) {
    case 0:
        post(what & 8 ? "cart/1" : "cart/2", what & 16 ? "cart.read" : "cart.add");
        break;
    case 1:
        operate(fuzz_byte());
        break;
    case 2:
        w.store->error = w.store->error == STORE_OK && what & 8 ? STORE_FULL : STORE_OK;
        break;
    case 3:
        jobs_world_pass(&w, AO_MS(10) * (1 + fuzz_byte()));
        break;
    case 4:
        jobs_world_pass(&w, AO_S(40)); /* what is out has timed out, and returns late */
        break;
    default:
        if (r)
            answer(r);
    }
}

static void is_as_it_was(void)
{
    const struct actor *a = actor_find(w.jobs->actors, span_text(""), span_text("safe/1"));
    const struct store_actor *row =
        memory_rows_actor(&w.store->rows, span_text(""), span_text("safe"), span_text("1"));
    if (a && a->residence == ACTOR_HERE)
        CHECK(a->version == 1 && span_is(actor_state(a).raw, "\x07"));
    CHECK(!row || (row->version == 1 && span_is(row->state, "\x07")));
}

static void check_turns(void)
{
    uint8_t kind = fuzz_byte();
    jobs_world_init(&w);
    w.quiet = true;
    w.options.settings.limits.max = 200;
    w.options.settings.limits.bytes = w.options.settings.limits.kept_bytes = 1 << 20;
    jobs_world_keep_store(&w);
    jobs_world_open(&w);
    offer(kind & 0xfd);
    offer_safe(kind);
    post("safe/1", "safe.add");
    struct world_run *r = run_at(0);
    CHECK(r && !turn_set_state(r->run.turn, span_text("\x07"), 1));
    world_finish(r, "\x2a");
    jobs_world_pass(&w, AO_MS(20));
    if (kind & 2)
        offer(kind);
    for (int n = 0; n < STEPS_MAX && fuzz_more(); n++)
        act();
    w.store->error = STORE_OK;
    jobs_world_pass(&w, AO_S(5));
    is_as_it_was();
    jobs_world_fini(&w);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    fuzz_begin(data, size);
    switch (fuzz_byte() % 6) {
    case 0:
        check_names();
        break;
    case 1:
        check_type();
        break;
    case 2:
    case 3:
        check_changes();
        break;
    default:
        check_turns();
    }
}
