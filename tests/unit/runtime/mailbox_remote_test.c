/* Mail from another activator and from plain threads: the bound, order, waiting for room, the end.
 */
#include <ergon/mailbox.h>

#include "tests/support/heap.h"
#include "tests/unit/runtime/stage.h"

enum { ROUNDS = 7, SHARE = 2, MAILS = 8 };

struct numbered {
    struct ao_mail mail;
    int n;
};

struct props {
    struct ao_mailbox box;
    struct ao_mailbox_remote *remote;
    struct ao_port *home, *away;
    struct numbered mails[MAILS];
    int64_t heap;
};

static int orphans;

static void orphan(struct ao_mail *mail)
{
    (void)mail;
    orphans++;
}

static struct props *props_of(struct actor *a)
{
    return a->stage->props;
}

static void set_up(struct stage *s, struct props *p)
{
    orphans = 0;
    p->heap = heap_live();
    stage_open(s, p);
    ao_mailbox_init(&p->box, SHARE + 1);
    p->home = ao_port_new(s->home);
    p->away = ao_port_new(s->away);
    p->remote = ao_mailbox_share(&p->box, p->home, SHARE, orphan);
    assert_non_null(p->remote);
    for (int i = 0; i < MAILS; i++)
        p->mails[i] = (struct numbered){.n = i};
}

/* Returns how many mails were still in the mailbox. */
static int tear_down(struct stage *s, struct props *p)
{
    int left = 0;
    virtual_close(&s->v, s->away);
    virtual_close(&s->v, s->home);
    ao_mailbox_remote_close(p->remote);
    ao_mailbox_remote_close(p->remote);
    ao_mailbox_close(&p->box);
    while (ao_mailbox_take(&p->box))
        left++;
    ao_mailbox_fini(&p->box);
    assert_int_equal(ao_mailbox_remote_try_send(p->remote, &p->mails[0].mail), AO_E_CLOSED);
    ao_mailbox_remote_unref(p->remote);
    ao_port_free(p->away);
    ao_port_free(p->home);
    stage_close(s);
    assert_int_equal(heap_live(), p->heap);
    return left;
}

static int number_of(struct ao_mail *mail)
{
    return ao_of(mail, struct numbered, mail)->n;
}

static enum ao_verdict receiver(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    for (;;) {
        AO_AWAIT(self, &a->seq, &a->wait, ao_mailbox_receive(&props_of(a)->box, &a->wait));
        if (a->wait.outcome != AO_WAIT_READY)
            break;
        stage_say(a->stage, "%c got %d", a->name, number_of(a->wait.value));
    }
    AO_END(&a->seq);
}

/* Sends 1 to 5 from away. */
static enum ao_verdict far_sender(struct ao *self)
{
    struct actor *a = actor_of(self);
    struct props *p = props_of(a);

    AO_BEGIN(&a->seq);
    for (a->i = 1; a->i <= 5; a->i++) {
        AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                     ao_mailbox_remote_send(p->remote, p->away, &p->mails[a->i].mail, &a->wait));
        if (a->wait.outcome != AO_WAIT_READY)
            break;
    }
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

TEST(bound_holds_from_afar)
{
    struct stage s;
    struct props p;
    set_up(&s, &p);
    assert_null(ao_mailbox_share(&p.box, p.home, 1, orphan)); /* one place stays home's */
    assert_int_equal(ao_mailbox_remote_try_send(p.remote, &p.mails[0].mail), 0);
    assert_int_equal(ao_mailbox_remote_try_send(p.remote, &p.mails[1].mail), 0);
    assert_int_equal(ao_mailbox_remote_try_send(p.remote, &p.mails[2].mail), AO_E_FULL);
    virtual_run(&s.v);
    assert_int_equal(ao_mailbox_remote_try_send(p.remote, &p.mails[2].mail), AO_E_FULL);
    assert_int_equal(ao_mailbox_try_send(&p.box, &p.mails[3].mail), 0);
    assert_int_equal(ao_mailbox_try_send(&p.box, &p.mails[4].mail), AO_E_FULL);
    assert_int_equal(number_of(ao_mailbox_take(&p.box)), 0);
    assert_int_equal(ao_mailbox_try_send(&p.box, &p.mails[4].mail), AO_E_FULL);
    assert_int_equal(ao_mailbox_remote_try_send(p.remote, &p.mails[2].mail), 0);
    virtual_run(&s.v);
    assert_int_equal(number_of(ao_mailbox_take(&p.box)), 1);
    assert_int_equal(number_of(ao_mailbox_take(&p.box)), 3);
    assert_int_equal(number_of(ao_mailbox_take(&p.box)), 2);
    assert_int_equal(tear_down(&s, &p), 0);
}

TEST(sender_waits_for_room_in_any_order)
{
    for (unsigned order = 0; order < 1u << ROUNDS; order++) {
        struct stage s;
        struct props p;
        struct actor a, b;
        set_up(&s, &p);
        actor_enter(&a, &s, s.away, 'a', far_sender);
        for (int i = 0; i < ROUNDS; i++) {
            if (i == (int)(order % ROUNDS))
                actor_enter(&b, &s, s.home, 'b', receiver);
            virtual_round(&s.v, order >> i & 1 ? s.away : s.home);
        }
        virtual_run(&s.v);
        assert_int_equal(a.wait.outcome, AO_WAIT_READY);
        s.length = 0; /* when the sender is told, relative to the receiver, is free */
        ao_deactivate(&b.ao);
        assert_int_equal(tear_down(&s, &p), 0);
    }
}

TEST(order_from_afar)
{
    struct stage s;
    struct props p;
    struct actor a, b;
    set_up(&s, &p);
    actor_enter(&b, &s, s.home, 'b', receiver);
    actor_enter(&a, &s, s.away, 'a', far_sender);
    virtual_run(&s.v);
    stage_expect(&s, "[0] b got 1\n[0] b got 2\n[0] a is ready\n[0] b got 3\n[0] b got 4\n"
                     "[0] b got 5\n");
    ao_deactivate(&b.ao);
    assert_int_equal(tear_down(&s, &p), 0);
}

/* The sender goes at any moment: either its mail was accepted, or it still is the sender's; and
 * the room is neither lost nor doubled. */
static void sender_goes_at(unsigned order, int take, int cancel)
{
    struct stage s;
    struct props p;
    struct actor a;
    int taken = 0;
    set_up(&s, &p);
    actor_enter(&a, &s, s.away, 'a', far_sender);
    for (int i = 0; i < ROUNDS; i++) {
        if (i == take)
            taken += ao_mailbox_take(&p.box) != NULL;
        if (i == cancel)
            ao_deactivate(&a.ao);
        virtual_round(&s.v, order >> i & 1 ? s.away : s.home);
    }
    ao_deactivate(&a.ao);
    virtual_run(&s.v);
    int accepted = a.i == 0 ? 0 : a.i - 1 + (a.wait.outcome == AO_WAIT_READY);
    while (ao_mailbox_take(&p.box))
        taken++;
    virtual_run(&s.v);
    assert_int_equal(taken, accepted);
    for (int i = 0; i < SHARE; i++)
        assert_int_equal(ao_mailbox_remote_try_send(p.remote, &p.mails[i].mail), 0);
    assert_int_equal(ao_mailbox_remote_try_send(p.remote, &p.mails[7].mail), AO_E_FULL);
    virtual_run(&s.v);
    assert_int_equal(tear_down(&s, &p), SHARE);
}

TEST(sender_that_goes)
{
    for (unsigned order = 0; order < 1u << ROUNDS; order++)
        for (int take = 1; take < ROUNDS; take++)
            for (int cancel = 0; cancel < ROUNDS; cancel++)
                sender_goes_at(order, take, cancel);
}

TEST(mail_under_way_is_orphaned)
{
    struct stage s;
    struct props p;
    set_up(&s, &p);
    assert_int_equal(ao_mailbox_remote_try_send(p.remote, &p.mails[0].mail), 0);
    virtual_run(&s.v);
    assert_int_equal(ao_mailbox_remote_try_send(p.remote, &p.mails[1].mail), 0);
    assert_int_equal(tear_down(&s, &p), 1);
    assert_int_equal(orphans, 1);
}

static enum ao_verdict sends_at_home(struct ao *self)
{
    struct actor *a = actor_of(self);
    struct props *p = props_of(a);

    AO_BEGIN(&a->seq);
    AO_AWAIT(self, &a->seq, &a->wait,
             ao_mailbox_send(&p->box, &p->mails[MAILS - 1].mail, &a->wait));
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

/* All of it: what was free, what was granted in vain, and later what the mail inside takes. */
TEST(share_goes_back_at_the_close)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p);
    ao_mailbox_remote_try_send(p.remote, &p.mails[0].mail);
    virtual_run(&s.v);
    assert_int_equal(ao_mailbox_try_send(&p.box, &p.mails[2].mail), 0);
    actor_enter(&a, &s, s.home, 'a', sends_at_home);
    activator_round(s.home, false);
    assert_int_equal(ao_mailbox_remote_try_send(p.remote, &p.mails[1].mail), 0); /* an orphan */
    ao_mailbox_remote_close(p.remote);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n");
    assert_int_equal(orphans, 1);
    for (int i = 0; i < 2; i++)
        ao_mailbox_take(&p.box);
    assert_null(ao_mailbox_share(&p.box, p.home, SHARE, orphan));
    struct ao_mailbox_remote *again = ao_mailbox_share(&p.box, p.home, SHARE - 1, orphan);
    assert_non_null(again);
    ao_mailbox_remote_close(again);
    ao_mailbox_remote_unref(again);
    assert_int_equal(tear_down(&s, &p), 1);
}

TEST(close_tells_far_senders)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p);
    actor_enter(&a, &s, s.away, 'a', far_sender);
    virtual_run(&s.v);
    ao_mailbox_remote_close(p.remote);
    virtual_run(&s.v);
    actor_enter(&a, &s, s.away, 'a', far_sender);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is closed\n[0] a is closed\n");
    assert_int_equal(tear_down(&s, &p), SHARE);
}

TEST(deadline_from_afar)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p);
    actor_enter(&a, &s, s.away, 'a', far_sender);
    a.patience = AO_MS(5);
    virtual_run(&s.v);
    stage_expect(&s, "[5] a is deadline passed\n");
    assert_int_equal(tear_down(&s, &p), SHARE);
}

TEST(no_memory_is_refused)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p);
    actor_enter(&a, &s, s.away, 'a', far_sender);
    heap_fail_at(1);
    virtual_run(&s.v);
    assert_true(heap_failed());
    stage_expect(&s, "[0] a is out of memory\n");
    heap_fail_at(1);
    assert_null(ao_mailbox_share(&p.box, p.home, 0, orphan));
    assert_int_equal(tear_down(&s, &p), SHARE);
}
