/* A thousand workers that are taken away at random, 10,000 good tasks, and one that kills whoever
 * takes it: that one is dead after so many kills, and no other, though its worker was taken away
 * three times. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/random.h"

enum {
    WORKERS = 1000,
    SLOTS_MOST = 8,
    TASKS = 10000,
    UNLUCKY = 500,  /* tasks whose worker is taken away as often as it may be */
    TAKEN_AWAY = 3, /* times that it may be, of a good task */
    KILLS = 3       /* workers taken away at random, 20 times a second */
};

struct worker {
    struct world_run *runs[SLOTS_MOST];
    uint32_t count;
};

/* What the outside knows of a task. */
struct known {
    uint32_t attempt; /* the highest that began */
    uint32_t lost, ended;
};

struct fleet {
    struct jobs_world *w;
    struct worker workers[WORKERS];
    struct known tasks[TASKS + 1];
    uint64_t first, poison; /* ids */
    uint32_t slots, at, deaths;
    uint64_t seed;
};

static struct known *known_of(struct fleet *f, const struct world_run *r)
{
    return &f->tasks[r->run.id - f->first];
}

static struct worker *worker_of(struct fleet *f, const struct world_run *r)
{
    for (uint32_t i = 0; i < WORKERS; i++)
        for (uint32_t k = 0; k < f->workers[i].count; k++)
            if (f->workers[i].runs[k] == r)
                return &f->workers[i];
    fail_msg("no worker has it");
    return NULL;
}

/* Those that have room, in turn. */
static void begun(void *arg, struct world_run *r, ao_time *lasts)
{
    struct fleet *f = arg;
    struct known *k = known_of(f, r);
    assert_true(r->run.attempt > k->attempt);
    assert_int_equal(k->ended, 0);
    k->attempt = r->run.attempt;
    while (f->workers[f->at].count == f->slots)
        f->at = (f->at + 1) % WORKERS;
    f->workers[f->at].runs[f->workers[f->at].count++] = r;
    f->at = (f->at + 1) % WORKERS;
    *lasts = r->run.id == f->poison ? AO_MS(10) : AO_MS(100 + chance(&f->seed, 4000));
}

/* All that it had is lost; its machine is there again at once, with another worker. */
static void take_away(struct fleet *f, struct worker *worker)
{
    struct worker had = *worker;
    enum attempt_loss loss = had.count == 1 ? LOSS_ALONE : LOSS_IN_COMPANY;
    worker->count = 0;
    f->deaths += had.count > 0;
    for (uint32_t i = 0; i < had.count; i++) {
        known_of(f, had.runs[i])->lost++;
        world_lose(had.runs[i], loss, "worker w1 at 10.0.0.7: killed");
    }
}

static void over(void *arg, struct world_run *r)
{
    struct fleet *f = arg;
    struct worker *worker = worker_of(f, r);
    if (r->run.id == f->poison) {
        take_away(f, worker);
        return;
    }
    uint32_t at = 0;
    while (worker->runs[at] != r)
        at++;
    worker->runs[at] = worker->runs[--worker->count];
    known_of(f, r)->ended++;
    world_finish(r, "\x01");
}

/* Has it a good task that was lost so often already? */
static bool is_spared(struct fleet *f, const struct worker *worker)
{
    for (uint32_t i = 0; i < worker->count; i++)
        if (known_of(f, worker->runs[i])->lost >= TAKEN_AWAY ||
            worker->runs[i]->run.id == f->poison)
            return true;
    return worker->count == 0;
}

static bool has_unlucky(struct fleet *f, const struct worker *worker)
{
    for (uint32_t i = 0; i < worker->count; i++)
        if (worker->runs[i]->run.id - f->first < UNLUCKY)
            return true;
    return false;
}

static void take_some_away(struct fleet *f)
{
    for (uint32_t i = 0; i < KILLS; i++) {
        struct worker *worker = &f->workers[chance(&f->seed, WORKERS)];
        if (!is_spared(f, worker))
            take_away(f, worker);
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        if (!is_spared(f, &f->workers[i]) && has_unlucky(f, &f->workers[i]))
            take_away(f, &f->workers[i]);
}

static void live(struct jobs_world *w, uint32_t slots)
{
    static struct fleet f;
    f = (struct fleet){.w = w, .slots = slots, .seed = 1 + slots};
    w->quiet = true;
    w->begun = begun;
    w->over = over;
    w->arg = &f;
    w->room[POOL_OF_WORKERS] = WORKERS * slots;
    world_offer(w, "resize", true, "");
    struct job_spec spec = world_spec("resize");
    spec.keep = AO_S(100000);
    f.first = w->jobs->table.next_id;
    f.poison = f.first + TASKS / 2;
    for (uint32_t i = 0; i <= TASKS; i++)
        jobs_world_submit(w, &spec);
    for (uint32_t i = 0; i < 20 * 600 && w->jobs->table.by_state[JOB_DONE] < TASKS; i++) {
        jobs_world_pass(w, AO_MS(50));
        take_some_away(&f);
    }
    jobs_world_pass(w, AO_S(600)); /* the poison has its pauses */

    uint32_t thrice = 0;
    for (uint32_t i = 0; i <= TASKS; i++) {
        bool poison = f.first + i == f.poison;
        assert_int_equal(world_state(w, f.first + i), poison ? JOB_DEAD : JOB_DONE);
        assert_int_equal(f.tasks[i].ended, !poison);
        thrice += !poison && f.tasks[i].lost == TAKEN_AWAY;
    }
    assert_true(thrice >= UNLUCKY - 1);
    print_message("%u workers taken away, %u tasks lost three times, the poison killed %u\n",
                  f.deaths, thrice, f.tasks[f.poison - f.first].lost);
    if (slots == 1)
        assert_int_equal(f.tasks[f.poison - f.first].lost, 4);
    else
        assert_in_range(f.tasks[f.poison - f.first].lost, 4, 9);
}

JOBS_TEST(one_task_at_a_time)
{
    live(w, 1);
}

JOBS_TEST(eight_tasks_at_a_time)
{
    live(w, SLOTS_MOST);
}
