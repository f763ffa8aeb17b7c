/* Whoever breaks the contract of a public function of the runtime is told so, in every build. */
#include "tests/support/cmocka_env.h"
#include <pthread.h>

#include <ergon/activator.h>
#include <ergon/event.h>
#include <ergon/group.h>
#include <ergon/mailbox.h>
#include <ergon/select.h>
#include <ergon/sem_remote.h>

#include "server/runtime/activator.h"
#include "tests/support/death.h"
#include "tests/support/virtual.h"

struct world {
    struct virtual v;
    struct activator *home, *away;
    struct ao ao;
    struct ao_handle *handle;        /* of `ao` */
    void (*misuse)(struct world *w); /* within a step of `ao` */
};

static enum ao_verdict step(struct ao *self)
{
    struct world *w = ao_of(self, struct world, ao);
    w->misuse(w);
    return AO_DONE;
}

static const struct ao_class class = {.name = "clumsy", .step = step};

static void *activate_it(void *ao)
{
    ao_activate(ao);
    return NULL;
}

static void on_a_foreign_thread(struct world *w)
{
    pthread_t thread;
    pthread_create(&thread, NULL, activate_it, &w->ao);
    pthread_join(thread, NULL);
}

static void round_within_a_step(struct world *w)
{
    activator_round(w->home, false);
}

static void step_of_a_stranger(struct world *w)
{
    activator_step_now(w->away, &w->ao);
}

static void end_of_an_active_object(struct world *w)
{
    ao_fini(&w->ao);
}

static void block_of_another(struct world *w)
{
    struct ao other;
    ao_init(&other, &class, w->home);
    ao_block(&other);
}

static void step_of_a_sleeper(struct world *w)
{
    struct ao other;
    ao_init(&other, &class, w->home);
    ao_sleep_for(&other, AO_S(1));
    activator_step_now(w->home, &other);
}

static void mailbox_without_room(struct world *w)
{
    struct ao_mailbox m;
    ao_mailbox_init(&m, 0);
}

static void mailbox_with_mail(struct world *w)
{
    struct ao_mailbox m;
    struct ao_mail mail;
    ao_mailbox_init(&m, 1);
    ao_mailbox_try_send(&m, &mail);
    ao_mailbox_fini(&m);
}

static void select_out_of_order(struct world *w)
{
    struct ao_wait records[2] = {0};
    struct ao_select s;
    ao_select_begin(&s, records, 2);
    ao_select_arm(&s, 1);
}

static void permit_in_a_select(struct world *w)
{
    struct ao_sem sem;
    struct ao_permit permit = {.wait.listened = true};
    ao_sem_init(&sem, 1);
    ao_sem_acquire_scoped(&sem, &permit);
}

static void record_in_use(struct world *w)
{
    struct ao_sem sem;
    struct ao_wait wait = {0};
    ao_sem_init(&sem, 0);
    ao_wait_prepare(&w->ao, &wait);
    ao_sem_acquire(&sem, &wait);
    ao_wait_prepare(&w->ao, &wait);
}

static void start_of_nothing(struct world *w)
{
    struct ao_wait wait = {0};
    ao_wait_prepare(&w->ao, &wait);
    ao_wait_park(&w->ao, &wait, AO_NEVER);
}

static void start_twice(struct world *w)
{
    struct ao_sem sem;
    struct ao_wait wait = {0};
    ao_sem_init(&sem, 0);
    ao_wait_prepare(&w->ao, &wait);
    ao_sem_acquire(&sem, &wait);
    ao_sem_acquire(&sem, &wait);
}

static void settle_twice(struct world *w)
{
    struct ao_wait wait = {0};
    ao_wait_prepare(&w->ao, &wait);
    ao_wait_settle(&wait, AO_WAIT_READY, NULL);
    ao_wait_settle(&wait, AO_WAIT_READY, NULL);
}

static void settle_as_pending(struct world *w)
{
    struct ao_wait wait = {0};
    ao_wait_prepare(&w->ao, &wait);
    ao_wait_settle(&wait, AO_WAIT_PENDING, NULL);
}

static void park_of_another(struct world *w)
{
    struct ao other;
    struct ao_sem sem;
    struct ao_wait wait = {0};
    ao_init(&other, &class, w->home);
    ao_sem_init(&sem, 0);
    ao_wait_prepare(&other, &wait);
    ao_sem_acquire(&sem, &wait);
    ao_wait_park(&w->ao, &wait, AO_NEVER);
}

static void grant_unseen(struct world *w)
{
    struct ao_sem sem;
    struct ao_wait wait = {0};
    ao_sem_init(&sem, 1);
    ao_wait_prepare(&w->ao, &wait);
    ao_sem_acquire(&sem, &wait);
    ao_wait_prepare(&w->ao, &wait);
}

static void queued_twice(struct world *w)
{
    struct ao_wait_queue q = {0};
    struct ao_wait wait = {0};
    ao_wait_push(&q, &wait);
    ao_wait_push(&q, &wait);
}

static void in_no_queue(struct world *w)
{
    struct ao_wait_queue q = {0};
    struct ao_wait wait = {0};
    ao_wait_remove(&q, &wait);
}

static void select_of_nothing(struct world *w)
{
    struct ao_wait records[1] = {0}, wait = {0};
    struct ao_select s;
    ao_select_begin(&s, records, 1);
    ao_wait_prepare(&w->ao, &wait);
    ao_select_await(&s, &wait);
}

static void select_twice(struct world *w)
{
    struct ao_event e;
    struct ao_wait records[1] = {0}, wait = {0}, again = {0};
    struct ao_select s;
    ao_event_init(&e, AO_EVENT_AUTO);
    ao_select_begin(&s, records, 1);
    AO_SELECT(&s, 0, ao_event_await(&e, &records[0]));
    ao_wait_prepare(&w->ao, &wait);
    ao_select_await(&s, &wait);
    ao_wait_prepare(&w->ao, &again);
    ao_select_await(&s, &again);
}

static void post_of_nothing(struct world *w)
{
    ao_post(w->handle, 0);
}

static void post_of_the_unknown(struct world *w)
{
    ao_post(w->handle, (enum ao_post)32);
}

static void post_beside_the_known(struct world *w)
{
    ao_post(w->handle, (enum ao_post)(AO_POST_WAKE | 64));
}

static void handle_given_up_twice(struct world *w)
{
    ao_handle_unref(w->handle);
    ao_handle_unref(w->handle);
}

static void release_beyond_counting(struct world *w)
{
    struct ao_sem sem;
    ao_sem_init(&sem, UINT32_MAX);
    ao_sem_release(&sem);
}

static void release_many_beyond_counting(struct world *w)
{
    struct ao_sem sem;
    ao_sem_init(&sem, UINT32_MAX - 4);
    ao_sem_release_n(&sem, 5);
}

static void acquire_of_none(struct world *w)
{
    struct ao_sem sem;
    struct ao_wait wait = {0};
    ao_sem_init(&sem, 1);
    ao_sem_acquire_n(&sem, 0, &wait);
}

static void release_of_none(struct world *w)
{
    struct ao_sem sem;
    ao_sem_init(&sem, 1);
    ao_sem_release_n(&sem, 0);
}

static void thread_of_an_activator_waits(struct world *w)
{
    ao_sem_remote_acquire_blocking(ao_sem_remote_new(ao_port_new(w->home), 1), 1, AO_NEVER);
}

static void share_through_two_ports(struct world *w)
{
    struct ao_sem sem;
    ao_sem_init(&sem, 1);
    ao_sem_share(&sem, ao_port_new(w->home));
    ao_sem_share(&sem, ao_port_new(w->home));
}

static void remote_given_up_twice(struct world *w)
{
    struct ao_sem sem;
    ao_sem_init(&sem, 1);
    struct ao_sem_remote *r = ao_sem_share(&sem, ao_port_new(w->home));
    ao_sem_remote_unref(r);
    ao_sem_remote_unref(r);
}

static void no_orphan(struct ao_mail *mail)
{
    (void)mail;
}

static void mailbox_remote_given_up_twice(struct world *w)
{
    struct ao_mailbox m;
    ao_mailbox_init(&m, 2);
    struct ao_mailbox_remote *r = ao_mailbox_share(&m, ao_port_new(w->home), 1, no_orphan);
    ao_mailbox_remote_unref(r);
    ao_mailbox_remote_unref(r);
}

static void mail_for_nobody(struct world *w)
{
    struct ao_mailbox m;
    ao_mailbox_init(&m, 2);
    ao_mailbox_share(&m, ao_port_new(w->home), 1, NULL);
}

static void mail_sent_twice(struct world *w)
{
    struct ao_mailbox m;
    struct ao_mail mail;
    ao_mailbox_init(&m, 2);
    ao_mailbox_try_send(&m, &mail);
    ao_mailbox_try_send(&m, &mail);
}

static void event_of_no_mode(struct world *w)
{
    struct ao_event e;
    ao_event_init(&e, (enum ao_event_mode)7);
}

static void child_started_twice(struct world *w)
{
    struct ao_group g;
    struct ao_child child;
    ao_group_init(&g, w->home);
    ao_group_start(&g, &child, step);
    ao_group_start(&g, &child, step);
}

static void class_without_a_step(struct world *w)
{
    static const struct ao_class idle = {.name = "idle"};
    struct ao other;
    ao_init(&other, &idle, w->home);
}

static void end_in_its_own_step(struct world *w)
{
    ao_deactivate(&w->ao);
    ao_fini(&w->ao);
}

static void end_of_a_retired_object(struct world *w)
{
    struct ao other;
    ao_init(&other, &class, w->home);
    ao_retire(&other);
    ao_fini(&other);
}

static void fault_of_another(struct world *w)
{
    struct ao other;
    ao_init(&other, &class, w->home);
    ao_fault(&other, 1, "unasked");
}

static void step_within_itself(struct world *w)
{
    activator_step_now(w->home, &w->ao);
}

static void close_within_a_step(struct world *w)
{
    activator_close(w->home);
}

static void run_within_a_step(struct world *w)
{
    activator_run(w->home);
}

static void hook_with_nothing_to_run(struct world *w)
{
    struct round_hook hook = {0};
    activator_at_round_end(w->home, &hook);
}

static void no_run(struct round_hook *hook)
{
    (void)hook;
}

static void hook_delayed_for_ever(struct world *w)
{
    struct round_hook hook = {.run = no_run};
    activator_when_idle(w->home, &hook, AO_NEVER);
}

static void hook_due_never(struct world *w)
{
    struct round_hook hook = {.run = no_run};
    activator_after(w->home, &hook, AO_NEVER);
}

static void hook_forgotten_elsewhere(struct world *w)
{
    struct round_hook hook = {.run = no_run};
    activator_at_round_end(w->home, &hook);
    activator_forget_hook(w->away, &hook);
}

static void act(void *arg)
{
    struct world *w = arg;
    ao_activate(&w->ao);
    virtual_run(&w->v);
}

static const struct {
    void (*misuse)(struct world *w);
    const char *text;
} cases[] = {
    {on_a_foreign_thread, "called on a thread that is not the activator's"},
    {round_within_a_step, "activator_round(): called from within a step"},
    {step_of_a_stranger, "activator_step_now(): the object lives on another activator"},
    {end_of_an_active_object, "ao_fini(): the object is active or sleeps"},
    {block_of_another, "ao_block(): called outside of a step of the object"},
    {step_of_a_sleeper, "activator_step_now(): the object sleeps or is faulted"},
    {mailbox_without_room, "ao_mailbox_init(): the bound is 0"},
    {mailbox_with_mail, "ao_mailbox_fini(): mail is inside"},
    {select_out_of_order, "ao_select_arm(): each record is armed once, in rising order"},
    {permit_in_a_select, "ao_sem_acquire_scoped(): a select cannot keep a permit"},
    {record_in_use, "ao_wait_prepare(): the record waits for something already"},
    {start_of_nothing, "ao_wait_park(): the start function was given another record"},
    {start_twice, "ao_wait_pend(): the record was not prepared, or started twice"},
    {settle_twice, "ao_wait_settle(): the record is settled already"},
    {settle_as_pending, "ao_wait_settle(): the outcome is none that can be given"},
    {park_of_another, "ao_wait_park(): the record is another object's"},
    {grant_unseen, "ao_wait_prepare(): the owner has not looked at what the record was granted"},
    {queued_twice, "ao_wait_push(): the record is in a queue already"},
    {in_no_queue, "ao_wait_remove(): the record is in no queue"},
    {select_of_nothing, "ao_select_await(): no record is armed"},
    {select_twice, "ao_select_await(): it is awaited already"},
    {post_of_nothing, "ao_post(): nothing is asked for, or something unknown"},
    {post_of_the_unknown, "ao_post(): nothing is asked for, or something unknown"},
    {post_beside_the_known, "ao_post(): nothing is asked for, or something unknown"},
    {handle_given_up_twice, "ao_handle_unref(): the last reference is the object's own"},
    {release_beyond_counting, "ao_sem_release(): there are as many permits as can be counted"},
    {release_many_beyond_counting,
     "ao_sem_release_n(): there are as many permits as can be counted"},
    {acquire_of_none, "ao_sem_acquire_n(): 0 permits are asked for"},
    {release_of_none, "ao_sem_release_n(): 0 permits are released"},
    {thread_of_an_activator_waits, "ao_sem_remote_acquire_blocking(): the thread of an activator"},
    {share_through_two_ports, "ao_sem_share(): the semaphore is shared through another port"},
    {remote_given_up_twice, "ao_sem_remote_unref(): the last reference is the semaphore's own"},
    {mailbox_remote_given_up_twice, "unref(): the last reference is the mailbox's own"},
    {mail_for_nobody, "ao_mailbox_share(): no function takes what cannot be delivered"},
    {mail_sent_twice, "ao_mailbox_try_send(): the mail is inside already"},
    {event_of_no_mode, "ao_event_init(): there is no such mode"},
    {child_started_twice, "ao_group_start(): the child runs already"},
    {class_without_a_step, "ao_init(): the class lacks a step or a name"},
    {end_in_its_own_step, "ao_fini(): called from within the object's own step"},
    {end_of_a_retired_object, "ao_fini(): the object is retired"},
    {fault_of_another, "ao_fault(): called outside of a step of the object"},
    {step_within_itself, "activator_step_now(): the object is being stepped"},
    {close_within_a_step, "activator_close(): called from within a step"},
    {run_within_a_step, "activator_run(): called from within a step"},
    {hook_with_nothing_to_run, "activator_at_round_end(): the hook has nothing to run"},
    {hook_delayed_for_ever, "activator_when_idle(): the delay is not finite"},
    {hook_due_never, "activator_after(): the delay is not finite"},
    {hook_forgotten_elsewhere, "activator_forget_hook(): the hook is armed at another"},
};

TEST(each_misuse_is_named)
{
    struct world w;
    virtual_init(&w.v);
    w.home = virtual_open(&w.v, "home");
    w.away = virtual_open(&w.v, "away");
    ao_init(&w.ao, &class, w.home);
    w.handle = ao_handle_new(&w.ao);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        w.misuse = cases[i].misuse;
        expect_misuse(act, &w, cases[i].text);
    }
    ao_fini(&w.ao);
    ao_handle_unref(w.handle);
    virtual_fini(&w.v);
}

/* --- Activators --- */

static void no_poll(struct poller *self, ao_time timeout)
{
    (void)self;
    (void)timeout;
}

static void no_wake(struct poller *self)
{
    (void)self;
}

static void open_with(void *options)
{
    activator_open(options);
}

TEST(an_activator_is_opened_with_sense)
{
    struct poller poller = {.poll = no_poll, .wake = no_wake}, half = {.poll = no_poll};
    const struct ao_clock stopped = {0};
    struct activator_options idle = {.poller = &poller, .core = -1, .idle = (enum idle_mode)77};
    struct activator_options beyond = {.poller = &poller, .core = 100000};
    struct activator_options below = {.poller = &poller, .core = -2};
    struct activator_options deaf = {.poller = &half, .core = -1};
    struct activator_options timeless = {.poller = &poller, .core = -1, .clock = &stopped};
    expect_misuse(open_with, &idle, "there is no such idle mode");
    expect_misuse(open_with, &beyond, "the core does not exist");
    expect_misuse(open_with, &below, "the core does not exist");
    expect_misuse(open_with, &deaf, "the poller lacks a function");
    expect_misuse(open_with, &timeless, "the clock lacks its function");
}

static struct activator *open_one(void)
{
    static struct poller poller = {.poll = no_poll, .wake = no_wake};
    struct activator *a =
        activator_open(&(struct activator_options){.poller = &poller, .core = -1});
    assert_non_null(a);
    return a;
}

static void close_twice(void *arg)
{
    struct activator *a = open_one();
    (void)arg;
    activator_close(a);
    activator_close(a);
}

static void close_it(struct round_hook *hook)
{
    (void)hook;
    activator_close(activator_current());
}

static void close_within_a_round(void *arg)
{
    struct activator *a = open_one();
    struct round_hook hook = {.run = close_it};
    (void)arg;
    activator_at_round_end(a, &hook);
    activator_round(a, false);
}

static void *run_it(void *activator)
{
    activator_run(activator);
    return NULL;
}

static void close_what_another_runs(void *arg)
{
    struct activator *a = open_one();
    pthread_t thread;
    (void)arg;
    pthread_create(&thread, NULL, run_it, a);
    struct activator_stats stats;
    do
        activator_stats(a, &stats);
    while (stats.rounds == 0);
    activator_close(a);
}

TEST(an_activator_is_closed_once_and_at_rest)
{
    expect_misuse(close_twice, NULL, "activator_close(): this is no activator that is open");
    expect_misuse(close_within_a_round, NULL, "activator_close(): called from within a step or a");
    expect_misuse(close_what_another_runs, NULL, "activator_close(): another thread runs");
}
