/* A mailbox under three threads: a plain thread that tries, and an activator that waits for room
 * with deadlines, send to one receiver at home.  Everything arrives once, in each sender's order.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include <ergon/activator.h>
#include <ergon/mailbox.h>
#include <ergon/poller.h>
#include <ergon/seq.h>

enum { MAILS = 20000, BOUND = 16, SHARE = 12, SENDERS = 2 };

struct numbered {
    struct ao_mail mail;
    int sender, n;
};

struct receiver {
    struct ao ao;
    struct ao_seq seq;
    struct ao_wait wait;
    int next[SENDERS]; /* number expected of each */
};

struct sender {
    struct ao ao;
    struct ao_seq seq;
    struct ao_wait wait;
    int n;
    int waits_in_vain;
};

static struct poller *home_poller, *away_poller;
static struct activator *home, *away;
static struct ao_port *home_port, *away_port;
static struct ao_mailbox box;
static struct ao_mailbox_remote *remote;
static struct numbered mails[SENDERS][MAILS];
static struct receiver receiver;
static struct sender sender;

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "mailbox_stress: %s\n", what);
    abort();
}

static void orphan(struct ao_mail *mail)
{
    check(false, "mail was orphaned");
}

static void take(struct numbered *m)
{
    check(m->n == receiver.next[m->sender], "mail out of order");
    receiver.next[m->sender]++;
}

static enum ao_verdict receiver_step(struct ao *self)
{
    struct receiver *r = ao_of(self, struct receiver, ao);

    AO_BEGIN(&r->seq);
    while (r->next[0] < MAILS || r->next[1] < MAILS) {
        AO_AWAIT(self, &r->seq, &r->wait, ao_mailbox_receive(&box, &r->wait));
        check(r->wait.outcome == AO_WAIT_READY, "a receive failed");
        take(ao_of((struct ao_mail *)r->wait.value, struct numbered, mail));
    }
    activator_stop(away);
    activator_stop(home);
    AO_END(&r->seq);
}

static enum ao_verdict sender_step(struct ao *self)
{
    struct sender *s = ao_of(self, struct sender, ao);

    AO_BEGIN(&s->seq);
    while (s->n < MAILS) {
        AO_AWAIT_FOR(self, &s->seq, &s->wait, AO_MS(activator_random(away) % 2),
                     ao_mailbox_remote_send(remote, away_port, &mails[1][s->n].mail, &s->wait));
        if (s->wait.outcome == AO_WAIT_READY)
            s->n++;
        else
            s->waits_in_vain++;
        if (s->wait.outcome != AO_WAIT_READY)
            AO_YIELD(&s->seq);
    }
    AO_END(&s->seq);
}

static const struct ao_class receiver_class = {.name = "receiver", .step = receiver_step};
static const struct ao_class sender_class = {.name = "sender", .step = sender_step};

static void *run(void *arg)
{
    activator_run(arg);
    return NULL;
}

static void *try_to_send(void *arg)
{
    for (int i = 0; i < MAILS; i++)
        while (ao_mailbox_remote_try_send(remote, &mails[0][i].mail) != 0)
            sched_yield();
    return NULL;
}

static struct activator *open_one(struct poller **poller, struct ao_port **port, const char *name)
{
    *poller = poller_eventfd_new();
    check(*poller != NULL, "no poller");
    struct activator *a =
        activator_open(&(struct activator_options){.name = name, .poller = *poller, .core = -1});
    check(a != NULL, "no activator");
    *port = ao_port_new(a);
    check(*port != NULL, "no port");
    return a;
}

int main(void)
{
    pthread_t threads[3];
    for (int s = 0; s < SENDERS; s++)
        for (int i = 0; i < MAILS; i++)
            mails[s][i] = (struct numbered){.sender = s, .n = i};
    home = open_one(&home_poller, &home_port, "home");
    away = open_one(&away_poller, &away_port, "away");
    ao_mailbox_init(&box, BOUND);
    remote = ao_mailbox_share(&box, home_port, SHARE, orphan);
    check(remote != NULL, "no remote");
    ao_init(&receiver.ao, &receiver_class, home);
    ao_init(&sender.ao, &sender_class, away);
    ao_activate(&receiver.ao);
    ao_activate(&sender.ao);
    pthread_create(&threads[0], NULL, run, home);
    pthread_create(&threads[1], NULL, run, away);
    pthread_create(&threads[2], NULL, try_to_send, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);

    activator_close(away);
    activator_close(home);
    ao_mailbox_remote_close(remote);
    ao_mailbox_close(&box);
    check(ao_mailbox_empty(&box), "more mail than was sent");
    ao_mailbox_fini(&box);
    ao_mailbox_remote_unref(remote);
    ao_port_free(away_port);
    ao_port_free(home_port);
    poller_eventfd_free(away_poller);
    poller_eventfd_free(home_poller);
    printf("%d mails, %d waits in vain\n", SENDERS * MAILS, sender.waits_in_vain);
    return 0;
}
