/* Whoever breaks the contract of a public function of the runtime is told so, in every build. */
#include "tests/support/cmocka_env.h"
#include <pthread.h>

#include <ergon/activator.h>
#include <ergon/mailbox.h>
#include <ergon/select.h>
#include <ergon/sem.h>

#include "tests/support/death.h"
#include "tests/support/virtual.h"

struct world {
    struct virtual v;
    struct activator *home, *away;
    struct ao ao;
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

static void act(void *arg)
{
    struct world *w = arg;
    ao_activate(&w->ao);
    virtual_run(&w->v);
}

TEST(each_misuse_is_named)
{
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
    };
    struct world w;
    virtual_init(&w.v);
    w.home = virtual_open(&w.v, "home");
    w.away = virtual_open(&w.v, "away");
    ao_init(&w.ao, &class, w.home);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        w.misuse = cases[i].misuse;
        expect_misuse(act, &w, cases[i].text);
    }
    virtual_fini(&w.v);
}
