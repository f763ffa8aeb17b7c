/* Mail from another activator and from plain threads: the bound, order, waiting for room, the end.
 */
#include <ergon/mailbox.h>

#include "tests/support/heap.h"
#include "tests/unit/runtime/stage.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 5 }; /* an eighth of the orders: each stage is ten times as slow */
#else
enum { ROUNDS = 7 };
#endif
enum { SHARE = 2, MAILS = 8 };

struct numbered {
    struct ao_mail mail;
    int n;
};

static struct ao_mailbox box;
static struct ao_mailbox_remote *remote;
static struct ao_port *home_port, *away_port;
static struct numbered mails[MAILS];
static int64_t heap;

static int orphans;

static void orphan(struct ao_mail *mail)
{
    orphans++;
}

static void set_up(void)
{
    orphans = 0;
    heap = heap_live();
    stage_open();
    ao_mailbox_init(&box, SHARE + 1);
    home_port = ao_port_new(stage.home);
    away_port = ao_port_new(stage.away);
    remote = ao_mailbox_share(&box, home_port, SHARE, orphan);
    assert_non_null(remote);
    for (int i = 0; i < MAILS; i++)
        mails[i] = (struct numbered){.n = i};
}

/* Returns how many mails were still in the mailbox. */
static int tear_down(void)
{
    int left = 0;
    virtual_close(&stage.v, stage.away);
    virtual_close(&stage.v, stage.home);
    ao_mailbox_remote_close(remote);
    ao_mailbox_remote_close(remote);
    ao_mailbox_close(&box);
    while (ao_mailbox_take(&box))
        left++;
    ao_mailbox_fini(&box);
    assert_int_equal(ao_mailbox_remote_try_send(remote, &mails[0].mail), AO_E_CLOSED);
    ao_mailbox_remote_unref(remote);
    ao_port_free(away_port);
    ao_port_free(home_port);
    stage_close();
    assert_int_equal(heap_live(), heap);
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
        AO_AWAIT(self, &a->seq, &a->wait, ao_mailbox_receive(&box, &a->wait));
        if (a->wait.outcome != AO_WAIT_READY)
            break;
        stage_say("%c got %d", a->name, number_of(a->wait.value));
    }
    AO_END(&a->seq);
}

/* Sends 1 to 5 from away. */
static enum ao_verdict far_sender(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    for (a->i = 1; a->i <= 5; a->i++) {
        AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                     ao_mailbox_remote_send(remote, away_port, &mails[a->i].mail, &a->wait));
        if (a->wait.outcome != AO_WAIT_READY)
            break;
    }
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

TEST(bound_holds_from_afar)
{
    set_up();
    assert_null(ao_mailbox_share(&box, home_port, 1, orphan)); /* one place stays home's */
    assert_int_equal(ao_mailbox_remote_try_send(remote, &mails[0].mail), 0);
    assert_int_equal(ao_mailbox_remote_try_send(remote, &mails[1].mail), 0);
    assert_int_equal(ao_mailbox_remote_try_send(remote, &mails[2].mail), AO_E_FULL);
    virtual_run(&stage.v);
    assert_int_equal(ao_mailbox_remote_try_send(remote, &mails[2].mail), AO_E_FULL);
    assert_int_equal(ao_mailbox_try_send(&box, &mails[3].mail), 0);
    assert_int_equal(ao_mailbox_try_send(&box, &mails[4].mail), AO_E_FULL);
    assert_int_equal(number_of(ao_mailbox_take(&box)), 0);
    assert_int_equal(ao_mailbox_try_send(&box, &mails[4].mail), AO_E_FULL);
    assert_int_equal(ao_mailbox_remote_try_send(remote, &mails[2].mail), 0);
    virtual_run(&stage.v);
    assert_int_equal(number_of(ao_mailbox_take(&box)), 1);
    assert_int_equal(number_of(ao_mailbox_take(&box)), 3);
    assert_int_equal(number_of(ao_mailbox_take(&box)), 2);
    assert_int_equal(tear_down(), 0);
}

TEST(sender_waits_for_room_in_any_order)
{
    for (unsigned order = 0; order < 1u << ROUNDS; order++) {
        set_up();
        struct actor *a = actor_enter_at(stage.away, 'a', far_sender), *b = NULL;
        for (int i = 0; i < ROUNDS; i++) {
            if (i == (int)(order % ROUNDS))
                b = actor_enter('b', receiver);
            virtual_round(&stage.v, order >> i & 1 ? stage.away : stage.home);
        }
        virtual_run(&stage.v);
        assert_int_equal(a->wait.outcome, AO_WAIT_READY);
        stage.length = 0; /* when the sender is told, relative to the receiver, is free */
        ao_deactivate(&b->ao);
        assert_int_equal(tear_down(), 0);
    }
}

TEST(order_from_afar)
{
    set_up();
    struct actor *b = actor_enter('b', receiver);
    actor_enter_at(stage.away, 'a', far_sender);
    virtual_run(&stage.v);
    stage_expect("[0] b got 1\n[0] b got 2\n[0] a is ready\n[0] b got 3\n[0] b got 4\n"
                 "[0] b got 5\n");
    ao_deactivate(&b->ao);
    assert_int_equal(tear_down(), 0);
}

/* The sender goes at any moment: either its mail was accepted, or it still is the sender's; and
 * the room is neither lost nor doubled. */
static void sender_goes_at(unsigned order, int take, int cancel)
{
    int taken = 0;
    set_up();
    struct actor *a = actor_enter_at(stage.away, 'a', far_sender);
    for (int i = 0; i < ROUNDS; i++) {
        if (i == take)
            taken += ao_mailbox_take(&box) != NULL;
        if (i == cancel)
            ao_deactivate(&a->ao);
        virtual_round(&stage.v, order >> i & 1 ? stage.away : stage.home);
    }
    ao_deactivate(&a->ao);
    virtual_run(&stage.v);
    int accepted = a->i == 0 ? 0 : a->i - 1 + (a->wait.outcome == AO_WAIT_READY);
    while (ao_mailbox_take(&box))
        taken++;
    virtual_run(&stage.v);
    assert_int_equal(taken, accepted);
    for (int i = 0; i < SHARE; i++)
        assert_int_equal(ao_mailbox_remote_try_send(remote, &mails[i].mail), 0);
    assert_int_equal(ao_mailbox_remote_try_send(remote, &mails[7].mail), AO_E_FULL);
    virtual_run(&stage.v);
    assert_int_equal(tear_down(), SHARE);
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
    set_up();
    assert_int_equal(ao_mailbox_remote_try_send(remote, &mails[0].mail), 0);
    virtual_run(&stage.v);
    assert_int_equal(ao_mailbox_remote_try_send(remote, &mails[1].mail), 0);
    assert_int_equal(tear_down(), 1);
    assert_int_equal(orphans, 1);
}

static enum ao_verdict sends_at_home(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT(self, &a->seq, &a->wait, ao_mailbox_send(&box, &mails[MAILS - 1].mail, &a->wait));
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

/* All of it: what was free, what was granted in vain, and later what the mail inside takes. */
TEST(share_goes_back_at_the_close)
{
    set_up();
    ao_mailbox_remote_try_send(remote, &mails[0].mail);
    virtual_run(&stage.v);
    assert_int_equal(ao_mailbox_try_send(&box, &mails[2].mail), 0);
    actor_enter('a', sends_at_home);
    activator_round(stage.home, false);
    assert_int_equal(ao_mailbox_remote_try_send(remote, &mails[1].mail), 0); /* an orphan */
    ao_mailbox_remote_close(remote);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n");
    assert_int_equal(orphans, 1);
    for (int i = 0; i < 2; i++)
        ao_mailbox_take(&box);
    assert_null(ao_mailbox_share(&box, home_port, SHARE, orphan));
    struct ao_mailbox_remote *again = ao_mailbox_share(&box, home_port, SHARE - 1, orphan);
    assert_non_null(again);
    ao_mailbox_remote_close(again);
    ao_mailbox_remote_unref(again);
    assert_int_equal(tear_down(), 1);
}

TEST(close_tells_far_senders)
{
    set_up();
    actor_enter_at(stage.away, 'a', far_sender);
    virtual_run(&stage.v);
    ao_mailbox_remote_close(remote);
    virtual_run(&stage.v);
    actor_enter_at(stage.away, 'a', far_sender);
    virtual_run(&stage.v);
    stage_expect("[0] a is closed\n[0] a is closed\n");
    assert_int_equal(tear_down(), SHARE);
}

TEST(deadline_from_afar)
{
    set_up();
    actor_enter_at(stage.away, 'a', far_sender)->patience = AO_MS(5);
    virtual_run(&stage.v);
    stage_expect("[5] a is deadline passed\n");
    assert_int_equal(tear_down(), SHARE);
}

TEST(no_memory_is_refused)
{
    set_up();
    actor_enter_at(stage.away, 'a', far_sender);
    heap_fail_at(1);
    virtual_run(&stage.v);
    assert_true(heap_failed());
    stage_expect("[0] a is out of memory\n");
    heap_fail_at(1);
    assert_null(ao_mailbox_share(&box, home_port, 0, orphan));
    assert_int_equal(tear_down(), SHARE);
}
