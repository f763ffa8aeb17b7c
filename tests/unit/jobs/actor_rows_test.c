/* Rows that can be no actors, no types and no messages, though each of their columns holds a number
 * or bytes: the server would refuse to start on them, or send what no peer can read. */
#include <string.h>

#include "server/jobs/persist/actor_rows.h"
#include "server/jobs/persist/codec.h"
#include "tests/support/cmocka_env.h"

#define SPAN(text) span_of(text, sizeof text - 1)
#define NOTHING    span_of(NULL, 0)
#define ACTOR(changes)                                                                             \
    ({                                                                                             \
        struct store_actor row = {.type = SPAN("cart"), .key = SPAN("42"), .version = 3};          \
        changes;                                                                                   \
        row_check_actor(&row);                                                                     \
    })
#define CAN(verdict)    assert_null(verdict)
#define CANNOT(verdict) assert_non_null(verdict)

TEST(actors)
{
    char key[ACTOR_NAME_MAX];
    memset(key, 'k', sizeof key);
    CAN(ACTOR(row.tenant = SPAN("somebody"); row.state = SPAN("\x93\1\2\3");
              row.stopped = SPAN("it failed")));
    CAN(ACTOR(row.key = SPAN("a/b \xc3\xa4"); row.version = INT64_MAX));
    CANNOT(ACTOR(row.type = NOTHING));
    CANNOT(ACTOR(row.type = SPAN("Cart")));
    CANNOT(ACTOR(row.type = SPAN("ca/rt")));
    CANNOT(ACTOR(row.type = span_of(key, ACTOR_METHOD_MAX - 1)));
    CANNOT(ACTOR(row.key = NOTHING));
    CANNOT(ACTOR(row.key = SPAN("4\0002")));
    CANNOT(ACTOR(row.key = SPAN("4\xff")));
    CAN(ACTOR(row.key = span_of(key, ACTOR_NAME_MAX - 5)));
    CANNOT(ACTOR(row.key = span_of(key, ACTOR_NAME_MAX - 4)));
    CANNOT(ACTOR(row.tenant = SPAN("some\xff")));
    CANNOT(ACTOR(row.stopped = SPAN("it \xff")));
    CANNOT(ACTOR(row.version = UINT64_MAX));
    CANNOT(ACTOR(row.state = SPAN("\x93\1\2")));
    CANNOT(ACTOR(row.state = SPAN("\1\2")));
}

static const char *type(const char *name, struct span policy)
{
    const struct store_actor_type row = {.type = span_text(name), .policy = policy};
    return row_check_actor_type(&row);
}

#define POLICY(text) type("cart", SPAN(text))

TEST(types)
{
    CAN(POLICY("\x80"));
    CAN(POLICY("\x83\xa5state\xcd\x10\0\xa6schema\xce\xff\xff\xff\xff\xa9invention\1"));
    CAN(POLICY("\x82\xa7methods\x82\xa3"
               "add\1\xa4"
               "step\5\xaasupervisor\xa6"
               "boss/1"));
    CAN(POLICY("\x81\xaasupervisor\xa0"));
    CANNOT(type("Cart", SPAN("\x80")));
    CANNOT(type("", SPAN("\x80")));
    CANNOT(POLICY(""));
    CANNOT(POLICY("\xc0"));
    CANNOT(POLICY("\x90"));
    CANNOT(POLICY("\x81"));
    CANNOT(POLICY("\x80\x80"));
    CANNOT(POLICY("\x81\1\1"));
    CANNOT(POLICY("\x81\xa5state\xa1x"));
    CANNOT(POLICY("\x81\xa5state\0"));
    CANNOT(POLICY("\x81\xa5state\xce\0\x10\0\1"));
    CANNOT(POLICY("\x81\xa7"
                  "durable\3"));
    CANNOT(POLICY("\x81\xaaon_failure\3"));
    CANNOT(POLICY("\x81\xa9intensity\xce\xff\xff\xff\xff"));
    CANNOT(POLICY("\x81\xa6window\0"));
    CANNOT(POLICY("\x81\xaasupervisor\xa4"
                  "boss"));
    CANNOT(POLICY("\x81\xaasupervisor\xa7"
                  "boss/1\xff"));
    CANNOT(POLICY("\x81\xaasupervisor\1"));
}

TEST(methods_of_types)
{
    CANNOT(POLICY("\x81\xa7methods\1"));
    CANNOT(POLICY("\x81\xa7methods\x81\xa3"
                  "add\0"));
    CANNOT(POLICY("\x81\xa7methods\x81\xa3"
                  "add\x11"));
    CANNOT(POLICY("\x81\xa7methods\x81\xa3"
                  "Add\1"));
    CANNOT(POLICY("\x81\xa7methods\x81\xa3"
                  "a.d\1"));
    CANNOT(POLICY("\x81\xa7methods\x81\xa0\1"));
    CANNOT(POLICY("\x81\xa7methods\x81\1\1"));
    CANNOT(type("task", SPAN("\x81\xa7methods\x81\xa3"
                             "add\1")));
}

/* What is packed is read again. */
TEST(a_policy_and_back)
{
    struct actor_policy was = {ACTOR_POLICY_DEFAULTS}, is;
    struct actor_offer offer = {.type = SPAN("cart")};
    struct span methods;
    struct pack p;
    was.durable = ACTOR_DURABLE_FSYNC;
    was.schema = UINT32_MAX;
    was.state = ACTOR_STATE_MOST;
    was.on_failure = ACTOR_RESETS;
    was.backoff_max = AO_NEVER;
    strcpy(was.supervisor, "boss/1");
    pack_init(&p);
    type_row_pack(&p, &was, &offer);
    const struct store_actor_type row = {.type = offer.type, .policy = pack_bytes(&p)};
    assert_null(row_check_actor_type(&row));
    assert_null(type_row_read(&row, &is, &methods));
    assert_string_equal(is.supervisor, was.supervisor);
    assert_int_equal(is.schema, was.schema);
    assert_int_equal(is.state, was.state);
    assert_int_equal(is.durable, was.durable);
    assert_int_equal(is.on_failure, was.on_failure);
    assert_int_equal(is.backoff_max, was.backoff_max);
    assert_int_equal(is.idle, was.idle);
    assert_int_equal(methods.len, 1);
    pack_fini(&p);
}

static const char *message(const char *actor, const char *method)
{
    const struct store_task row = {
        .id = 7, .method = span_text(method), .actor = span_text(actor), .durable = DURABLE_FSYNC};
    return row_check_task(&row);
}

/* The part of the method behind the type is looked for where messages fail. */
TEST(messages)
{
    CAN(message("cart/42", "cart.add"));
    CAN(message("", "work"));
    CAN(message("a.b/42/1", "a.b.add"));
    CANNOT(message("cart/42", "work"));
    CANNOT(message("cart/42", "add"));
    CANNOT(message("cart/42", "order.add"));
    CANNOT(message("cart/42", "cart.more.add"));
    CANNOT(message("cart", "cart.add"));
    CANNOT(message("cart/", "cart.add"));
    CANNOT(message("/42", ".add"));
    CANNOT(message("Cart/42", "Cart.add"));
    CANNOT(message("cart/4\xff", "cart.add"));
}
