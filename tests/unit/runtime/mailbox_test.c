/* The mailbox at home: order, bound, waiting for room and for mail, mail that comes back. */
#include <ergon/mailbox.h>

#include "tests/unit/runtime/stage.h"

struct letter_to {
    struct ao_mail mail;
    int n;
};

static struct ao_mailbox box;
static struct letter_to letters[16];

static void make_box(uint32_t bound)
{
    ao_mailbox_init(&box, bound);
    for (int i = 0; i < 16; i++)
        letters[i] = (struct letter_to){.n = i};
}

static int tear_down(void **state)
{
    ao_mailbox_close(&box);
    while (ao_mailbox_take(&box))
        ;
    ao_mailbox_fini(&box);
    return stage_tear_down(state);
}

#define MAILBOX_TEST(name) TEST_WITH(stage_set_up, tear_down, name)

static int number_of(struct ao_mail *mail)
{
    return ao_of(mail, struct letter_to, mail)->n;
}

static void send_now(int n)
{
    assert_int_equal(ao_mailbox_try_send(&box, &letters[n].mail), 0);
}

/* Says what it gets until the mailbox is closed or its patience ends. */
static enum ao_verdict receiver(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    for (;;) {
        AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience, ao_mailbox_receive(&box, &a->wait));
        if (a->wait.outcome != AO_WAIT_READY)
            break;
        stage_say("%c got %d", a->name, number_of(a->wait.value));
    }
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

/* Sends 1 to 5. */
static enum ao_verdict sender(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    for (a->i = 1; a->i <= 5; a->i++) {
        AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                     ao_mailbox_send(&box, &letters[a->i].mail, &a->wait));
        if (a->wait.outcome != AO_WAIT_READY)
            break;
        stage_say("%c sent %d", a->name, a->i);
    }
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

MAILBOX_TEST(order_and_bound)
{
    make_box(3);
    assert_true(ao_mailbox_empty(&box));
    assert_null(ao_mailbox_take(&box));
    for (int i = 0; i < 3; i++)
        send_now(i);
    assert_int_equal(ao_mailbox_try_send(&box, &letters[3].mail), AO_E_FULL);
    assert_int_equal(number_of(ao_mailbox_take(&box)), 0);
    send_now(3);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(number_of(ao_mailbox_take(&box)), i);
    assert_true(ao_mailbox_empty(&box));
}

MAILBOX_TEST(receivers_are_served_in_order)
{
    make_box(2);
    actor_enter('a', receiver);
    actor_enter('b', receiver);
    virtual_run(&stage.v);
    send_now(1);
    send_now(2);
    send_now(3);
    virtual_run(&stage.v);
    ao_mailbox_close(&box);
    virtual_run(&stage.v);
    stage_expect("[0] a got 1\n[0] a got 3\n[0] b got 2\n[0] a is closed\n[0] b is closed\n");
}

MAILBOX_TEST(sender_waits_for_room)
{
    make_box(2);
    actor_enter('a', sender);
    virtual_run(&stage.v);
    stage_expect("[0] a sent 1\n[0] a sent 2\n");
    assert_int_equal(ao_mailbox_try_send(&box, &letters[9].mail), AO_E_FULL);
    actor_enter('b', receiver)->patience = AO_MS(5);
    virtual_run(&stage.v);
    stage_expect("[0] b got 1\n[0] b got 2\n[0] b got 3\n[0] a sent 3\n[0] a sent 4\n"
                 "[0] a sent 5\n[0] a is ready\n[0] b got 4\n[0] b got 5\n"
                 "[5] b is deadline passed\n");
}

MAILBOX_TEST(sender_that_goes_keeps_its_mail)
{
    make_box(1);
    send_now(9);
    actor_enter('a', sender)->patience = AO_MS(3);
    virtual_run(&stage.v);
    struct actor *b = actor_enter('b', sender);
    virtual_run(&stage.v);
    ao_deactivate(&b->ao);
    assert_int_equal(number_of(ao_mailbox_take(&box)), 9);
    assert_true(ao_mailbox_empty(&box));
    stage_expect("[3] a is deadline passed\n");
}

MAILBOX_TEST(mail_of_a_receiver_that_ends)
{
    make_box(1);
    struct actor *a = actor_enter('a', receiver);
    virtual_run(&stage.v);
    send_now(1); /* granted to a */
    send_now(2);
    ao_deactivate(&a->ao); /* 1 is in front again */
    assert_int_equal(ao_mailbox_try_send(&box, &letters[3].mail), AO_E_FULL);
    assert_int_equal(number_of(ao_mailbox_take(&box)), 1);
    assert_int_equal(ao_mailbox_try_send(&box, &letters[3].mail), AO_E_FULL);
    assert_int_equal(number_of(ao_mailbox_take(&box)), 2);

    a = actor_enter('a', receiver);
    actor_enter('b', receiver);
    virtual_run(&stage.v);
    send_now(3); /* granted to a, then passed on to b */
    ao_retire(&a->ao);
    virtual_run(&stage.v);
    stage_expect("[0] b got 3\n");
}

MAILBOX_TEST(closed)
{
    make_box(1);
    actor_enter('a', sender);
    virtual_run(&stage.v);
    ao_mailbox_close(&box);
    virtual_run(&stage.v);
    assert_int_equal(ao_mailbox_try_send(&box, &letters[9].mail), AO_E_CLOSED);
    actor_enter('a', sender);
    actor_enter('b', receiver);
    virtual_run(&stage.v);
    stage_expect("[0] a sent 1\n[0] a is closed\n[0] a is closed\n[0] b got 1\n[0] b is closed\n");
}
