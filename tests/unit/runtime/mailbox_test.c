/* The mailbox at home: order, bound, waiting for room and for mail, mail that comes back. */
#include <ergon/mailbox.h>

#include "tests/unit/runtime/stage.h"

struct letter_to {
    struct ao_mail mail;
    int n;
};

struct props {
    struct ao_mailbox box;
    struct letter_to letters[16];
};

static struct props *props_of(struct actor *a)
{
    return a->stage->props;
}

static void set_up(struct stage *s, struct props *p, uint32_t bound)
{
    stage_open(s, p);
    ao_mailbox_init(&p->box, bound);
    for (int i = 0; i < 16; i++)
        p->letters[i] = (struct letter_to){.n = i};
}

static void tear_down(struct stage *s, struct props *p)
{
    ao_mailbox_close(&p->box);
    while (ao_mailbox_take(&p->box))
        ;
    ao_mailbox_fini(&p->box);
    stage_close(s);
}

static int number_of(struct ao_mail *mail)
{
    return ao_of(mail, struct letter_to, mail)->n;
}

static void send_now(struct props *p, int n)
{
    assert_int_equal(ao_mailbox_try_send(&p->box, &p->letters[n].mail), 0);
}

/* Says what it gets until the mailbox is closed or its patience ends. */
static enum ao_verdict receiver(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    for (;;) {
        AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                     ao_mailbox_receive(&props_of(a)->box, &a->wait));
        if (a->wait.outcome != AO_WAIT_READY)
            break;
        stage_say(a->stage, "%c got %d", a->name, number_of(a->wait.value));
    }
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

/* Sends 1 to 5. */
static enum ao_verdict sender(struct ao *self)
{
    struct actor *a = actor_of(self);
    struct props *p = props_of(a);

    AO_BEGIN(&a->seq);
    for (a->i = 1; a->i <= 5; a->i++) {
        AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                     ao_mailbox_send(&p->box, &p->letters[a->i].mail, &a->wait));
        if (a->wait.outcome != AO_WAIT_READY)
            break;
        stage_say(a->stage, "%c sent %d", a->name, a->i);
    }
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

TEST(order_and_bound)
{
    struct stage s;
    struct props p;
    set_up(&s, &p, 3);
    assert_true(ao_mailbox_empty(&p.box));
    assert_null(ao_mailbox_take(&p.box));
    for (int i = 0; i < 3; i++)
        send_now(&p, i);
    assert_int_equal(ao_mailbox_try_send(&p.box, &p.letters[3].mail), AO_E_FULL);
    assert_int_equal(number_of(ao_mailbox_take(&p.box)), 0);
    send_now(&p, 3);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(number_of(ao_mailbox_take(&p.box)), i);
    assert_true(ao_mailbox_empty(&p.box));
    tear_down(&s, &p);
}

TEST(receivers_are_served_in_order)
{
    struct stage s;
    struct props p;
    struct actor a, b;
    set_up(&s, &p, 2);
    actor_enter(&a, &s, s.home, 'a', receiver);
    actor_enter(&b, &s, s.home, 'b', receiver);
    virtual_run(&s.v);
    send_now(&p, 1);
    send_now(&p, 2);
    send_now(&p, 3);
    virtual_run(&s.v);
    ao_mailbox_close(&p.box);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a got 1\n[0] a got 3\n[0] b got 2\n[0] a is closed\n[0] b is closed\n");
    tear_down(&s, &p);
}

TEST(sender_waits_for_room)
{
    struct stage s;
    struct props p;
    struct actor a, b;
    set_up(&s, &p, 2);
    actor_enter(&a, &s, s.home, 'a', sender);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a sent 1\n[0] a sent 2\n");
    assert_int_equal(ao_mailbox_try_send(&p.box, &p.letters[9].mail), AO_E_FULL);
    actor_enter(&b, &s, s.home, 'b', receiver);
    b.patience = AO_MS(5);
    virtual_run(&s.v);
    stage_expect(&s, "[0] b got 1\n[0] b got 2\n[0] b got 3\n[0] a sent 3\n[0] a sent 4\n"
                     "[0] a sent 5\n[0] a is ready\n[0] b got 4\n[0] b got 5\n"
                     "[5] b is deadline passed\n");
    tear_down(&s, &p);
}

TEST(sender_that_goes_keeps_its_mail)
{
    struct stage s;
    struct props p;
    struct actor a, b;
    set_up(&s, &p, 1);
    send_now(&p, 9);
    actor_enter(&a, &s, s.home, 'a', sender);
    a.patience = AO_MS(3);
    virtual_run(&s.v);
    actor_enter(&b, &s, s.home, 'b', sender);
    virtual_run(&s.v);
    ao_deactivate(&b.ao);
    assert_int_equal(number_of(ao_mailbox_take(&p.box)), 9);
    assert_true(ao_mailbox_empty(&p.box));
    stage_expect(&s, "[3] a is deadline passed\n");
    tear_down(&s, &p);
}

TEST(mail_of_a_receiver_that_ends)
{
    struct stage s;
    struct props p;
    struct actor a, b;
    set_up(&s, &p, 1);
    actor_enter(&a, &s, s.home, 'a', receiver);
    virtual_run(&s.v);
    send_now(&p, 1); /* granted to a */
    send_now(&p, 2);
    ao_deactivate(&a.ao); /* 1 is in front again */
    assert_int_equal(ao_mailbox_try_send(&p.box, &p.letters[3].mail), AO_E_FULL);
    assert_int_equal(number_of(ao_mailbox_take(&p.box)), 1);
    assert_int_equal(ao_mailbox_try_send(&p.box, &p.letters[3].mail), AO_E_FULL);
    assert_int_equal(number_of(ao_mailbox_take(&p.box)), 2);

    actor_enter(&a, &s, s.home, 'a', receiver);
    actor_enter(&b, &s, s.home, 'b', receiver);
    virtual_run(&s.v);
    send_now(&p, 3); /* granted to a, then passed on to b */
    ao_retire(&a.ao);
    virtual_run(&s.v);
    stage_expect(&s, "[0] b got 3\n");
    tear_down(&s, &p);
}

TEST(closed)
{
    struct stage s;
    struct props p;
    struct actor a, b;
    set_up(&s, &p, 1);
    actor_enter(&a, &s, s.home, 'a', sender);
    virtual_run(&s.v);
    ao_mailbox_close(&p.box);
    virtual_run(&s.v);
    assert_int_equal(ao_mailbox_try_send(&p.box, &p.letters[9].mail), AO_E_CLOSED);
    actor_enter(&a, &s, s.home, 'a', sender);
    actor_enter(&b, &s, s.home, 'b', receiver);
    virtual_run(&s.v);
    stage_expect(&s,
                 "[0] a sent 1\n[0] a is closed\n[0] a is closed\n[0] b got 1\n[0] b is closed\n");
    tear_down(&s, &p);
}
