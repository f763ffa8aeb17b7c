/* Messages to actors of Ergon, and a task.call with a priority. */
#include "client/bench/rpc.h"
#include "client/lib/frame.h"
#include "tests/bench/peers/driver/keys.h"

static void hello(const struct request *r, struct outgoing *out)
{
    struct span greeting = frame_hello();
    outgoing_add(out, greeting.at, greeting.len);
}

/* [0, slot, method, ... with the width of the slot that RPC has. */
static uint8_t *begin(const struct request *r, struct outgoing *out, const char *method)
{
    uint32_t slot = __builtin_bswap32(r->slot);
    uint8_t *p = enc_uint(enc_array(outgoing_at(out), 4), 0);

    *p++ = 0xce;
    memcpy(p, &slot, sizeof slot);
    return enc_str(p + sizeof slot, span_text(method));
}

static uint8_t *add_params(uint8_t *p)
{
    return enc_uint(enc_array(p, 1), 1);
}

static void end(struct outgoing *out, const uint8_t *p)
{
    outgoing_wrote(out, (size_t)(p - (uint8_t *)outgoing_at(out)));
}

static void message(const struct request *r, struct outgoing *out, const char *method)
{
    const struct shape *s = r->work;
    char name[KEY_LENGTH];

    key_put(name, r);
    uint8_t *p = enc_str(enc_array(begin(r, out, method), 3), span_of(name, sizeof name));
    end(out, add_params(enc_str(p, span_text(s->method))));
}

static void call(const struct request *r, struct outgoing *out)
{
    message(r, out, "actor.call");
}

static void tell(const struct request *r, struct outgoing *out)
{
    message(r, out, "actor.tell");
}

static void task_call(const struct request *r, struct outgoing *out)
{
    enum { PRIORITY = 6 };
    const struct shape *s = r->work;
    uint8_t *p = enc_array(begin(r, out, "task.call"), 3);

    p = add_params(enc_str(p, span_text(s->method)));
    end(out, enc_uint(enc_str(enc_map(p, 1), span_text("priority")), PRIORITY));
}

static enum answer_kind parse(const void *work, struct scanner *scanner, const char *at, size_t n,
                              struct answer *a)
{
    return RPC.parse(work, scanner, at, n, a);
}

const struct protocol protocol_actor_call = {
    .name = "actor.call", .hello = hello, .request = call, .parse = parse};

const struct protocol protocol_actor_tell = {
    .name = "actor.tell", .hello = hello, .request = tell, .parse = parse};

const struct protocol protocol_task_call = {
    .name = "task.call", .hello = hello, .request = task_call, .parse = parse};
