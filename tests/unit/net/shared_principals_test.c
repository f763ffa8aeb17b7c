/* Those that are the same one share a principal, for as long as one of them is there. */
#include "server/net/auth/principal.h"
#include "tests/support/net_world.h"

enum { MANY = 3 };

static struct script many[MANY];

static struct connection *come(struct script *k)
{
    struct connection *c = net_connect(k);

    virtual_run(&net.v);
    assert_true(conn_open(c));
    return c;
}

NET_TEST(those_of_one_address_share_one)
{
    struct connection *one = come(&many[0]), *two = come(&many[1]);

    assert_ptr_equal(one->principal, two->principal);
    assert_int_equal(net.loop->principals.by_name.count, 1);
    script_send_eof(&many[0]);
    virtual_run(&net.v);
    assert_int_equal(net.loop->principals.by_name.count, 1);
    assert_ptr_equal(come(&many[2])->principal, two->principal);
    script_send_eof(&many[1]);
    script_send_eof(&many[2]);
    virtual_run(&net.v);
    assert_int_equal(net.loop->principals.by_name.count, 0);
}

NET_TEST(of_another_listener_or_behind_a_reload_it_is_another)
{
    static const struct listener_rules other;
    struct connection *c = come(&many[0]);
    struct shared_key key = {.how = PRINCIPAL_ADDRESS,
                             .name = principal_plain_name(c->principal),
                             .whose = &net.rules,
                             .generation = net.loop->generation};
    struct shared_principals *shared = &net.loop->principals;

    const struct principal *p = shared_principals_find(shared, &key);
    assert_ptr_equal(p, c->principal);
    shared_principals_release(shared, p);
    key.whose = &other;
    assert_null(shared_principals_find(shared, &key));
    key.whose = &net.rules;
    key.generation++;
    assert_null(shared_principals_find(shared, &key));
    key.generation--;
    key.own = true; /* of the same name, but the kernel says root */
    assert_null(shared_principals_find(shared, &key));
}

/* Its table has one for all already. */
NET_TEST(that_of_a_token_is_only_counted)
{
    struct connection *c = come(&many[0]);
    const struct principal *p = principal_new(
        &(struct principal_options){.how = PRINCIPAL_TOKEN, .name = "alice", .methods = "*"});

    conn_set_principal(c, p);
    assert_int_equal(net.loop->principals.by_name.count, 0);
    principal_unref(p);
    assert_string_equal(principal_name(c->principal), "token:alice");
}
