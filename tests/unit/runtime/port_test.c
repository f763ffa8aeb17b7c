/* Ports: letters in order, so many a step, and none left behind. */
#include "server/runtime/threads/port.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

enum { LETTERS = 600, BUDGET = 256 /* of port.c */ };

struct world {
    struct virtual v;
    struct activator *loop;
    struct ao_port *port;
    struct letter letters[LETTERS];
    int delivered, dropped;
};

static struct world w;

static void deliver(struct letter *letter, bool dropped)
{
    assert_ptr_equal(letter, &w.letters[w.delivered + w.dropped]); /* in order */
    if (dropped)
        w.dropped++;
    else
        w.delivered++;
}

static int set_up(void **state)
{
    w = (struct world){0};
    virtual_init(&w.v);
    w.loop = virtual_open(&w.v, "loop");
    w.port = ao_port_new(w.loop);
    assert_non_null(w.port);
    for (int i = 0; i < LETTERS; i++) {
        w.letters[i].deliver = deliver;
        port_send(w.port, &w.letters[i]);
    }
    return 0;
}

static int tear_down(void **state)
{
    ao_port_free(w.port);
    virtual_fini(&w.v);
    assert_int_equal(w.delivered + w.dropped, LETTERS);
    return 0;
}

#define PORT_TEST(name) TEST_WITH(set_up, tear_down, name)

/* Between the parts others have their turn. */
PORT_TEST(many_letters_are_delivered_in_parts)
{
    virtual_round(&w.v, w.loop);
    assert_int_equal(w.delivered, BUDGET);
    virtual_round(&w.v, w.loop);
    assert_int_equal(w.delivered, 2 * BUDGET);
    virtual_run(&w.v);
    assert_int_equal(w.delivered, LETTERS);
}

PORT_TEST(what_is_left_is_dropped_with_the_port)
{
    virtual_round(&w.v, w.loop);
}
