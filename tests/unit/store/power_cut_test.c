/* The power is cut while operations are on their way, again and again, each time at another call of
 * the disk: what came back OK is there afterwards, what did not is there with its whole commit or
 * not at all, and the accounts balance. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_env.h"
#include "sim/fault_vfs.h"
#include "tests/support/random.h"
#include "tests/support/store_world.h"
#include "tests/support/store_model.h"
#include "tests/support/virtual.h"

enum {
    CUTS = 1000, /* of each kind, with a stride of 1 */
    CUTS_OF_A_DISK = 25,
    FIRST_SEED = 100,
    BURST = 40,
    BURSTS = 80,
    CALLS = 1000,
    KILLS = 300,
    CALLS_OF_A_SERVER = 40, /* behind its start */
    TEXT = 300
};

struct world {
    struct store_world at;
    struct model certain; /* what came back OK */
    struct planned burst[BURST];
    uint32_t returned;
    struct planned tail[BURST * BURSTS]; /* came back with an error since the last that did not */
    uint32_t tail_count;
    uint64_t random, followed, lost, kept;
    bool syncs_fail;
    bool is_killed; /* behind its start */
};

static void on_return(struct store_client *c, struct store_op *op)
{
    struct world *w = c->arg;
    const struct planned *p = &w->burst[w->returned++];
    assert_int_equal(op->kind, p->kind);
    if (op->error == STORE_OK) {
        model_apply(&w->certain, p);
        w->tail_count = 0;
        w->followed++;
    } else if (op->error != STORE_REFUSED) {
        w->tail[w->tail_count++] = *p;
    }
}

static bool works(struct world *w)
{
    struct store_info info;
    store_info(w->at.client.store, &info);
    return info.error == STORE_OK;
}

/* Until the store has found that it can write, or never will. */
static void wait_until_it_works(struct world *w)
{
    while (!works(w) && !fault_is_cut())
        usleep(100);
    if (works(w))
        w->tail_count = 0; /* a commit was made over what might have been left of them */
}

/* A burst is published at once, so that it is one batch. */
static bool push_burst(struct world *w)
{
    static struct model future;
    uint32_t count = 1 + (uint32_t)chance(&w->random, BURST), made = 0;
    future = w->certain;
    while (made < count && model_plan(&future, &w->random, &w->burst[made])) {
        model_apply(&future, &w->burst[made]);
        client_push(&w->at.client, model_op(&w->burst[made++]));
    }
    w->returned = 0;
    client_wait(&w->at.client);
    wait_until_it_works(w);
    return made == count && !fault_is_cut();
}

static void run_until_cut(struct world *w)
{
    char error[TEXT];
    struct store_options options = client_options(w->at.path);
    options.vfs = FAULT_VFS;
    if (!client_open(&w->at.client, &options, error, sizeof error)) {
        assert_true(fault_is_cut());
        return;
    }
    w->at.client.returned = on_return;
    w->at.client.arg = w;
    if (w->is_killed)
        fault_cut_at(1 + chance(&w->random, CALLS_OF_A_SERVER));
    if (w->syncs_fail)
        fault_syncs(1 + chance(&w->random, 20));
    for (int n = 0; n < BURSTS && push_burst(w); n++)
        ;
    fault_cut_at(1);
    client_close(&w->at.client);
}

/* Some of the tail, without a gap, may have happened: it was one commit. */
static bool is_explained(struct world *w, const struct model *found)
{
    static struct model m;
    for (uint32_t from = 0; from <= w->tail_count; from++) {
        m = w->certain;
        if (model_equal(&m, found))
            return true;
        for (uint32_t to = from; to < w->tail_count; to++) {
            model_apply(&m, &w->tail[to]);
            if (model_equal(&m, found))
                return true;
        }
    }
    return false;
}

static void check(struct world *w)
{
    static struct model found;
    char error[TEXT] = "";
    struct store_options options = client_options(w->at.path);
    options.vfs = FAULT_VFS;
    model_read(&found, &options, error, sizeof error);
    assert_string_equal(error, "");
    assert_true(is_explained(w, &found));
    assert_true(model_balances(&found));
    w->lost += w->tail_count > 0 && model_equal(&found, &w->certain);
    w->kept += !model_equal(&found, &w->certain);
    w->certain = found;
    w->tail_count = 0;
}

static void run_disk(struct world *w, uint64_t seed, uint32_t cuts)
{
    fault_open(seed);
    w->random = seed;
    w->certain = (struct model){0};
    for (uint32_t n = 0; n < cuts; n++) {
        fault_cut_at(1 + chance(&w->random, CALLS));
        run_until_cut(w);
        fault_power_on();
        check(w);
    }
    fault_close();
}

/* The process dies under its operations, the next one reads the file, and the power is cut. */
static void run_killed(struct world *w, uint64_t seed, uint32_t kills)
{
    static struct model again;
    char error[TEXT] = "";
    struct store_options options = client_options(w->at.path);
    options.vfs = FAULT_VFS;
    fault_open(seed);
    w->random = seed;
    w->certain = (struct model){0};
    w->is_killed = true;
    for (uint32_t n = 0; n < kills; n++) {
        run_until_cut(w);
        fault_heal(); /* what was written is there, synced or not */
        check(w);
        fault_power_on();
        model_read(&again, &options, error, sizeof error);
        assert_string_equal(error, "");
        assert_true(model_equal(&again, &w->certain));
    }
    fault_close();
}

static void run_disks(struct world *w, const char *what, uint32_t cuts)
{
    for (uint32_t n = 0; n < cuts / CUTS_OF_A_DISK; n++)
        run_disk(w, FIRST_SEED + n, CUTS_OF_A_DISK);
    print_message("%s: %u cuts, %llu operations followed that came back OK; of commits under way "
                  "%llu were lost, %llu kept\n",
                  what, cuts, (unsigned long long)w->followed, (unsigned long long)w->lost,
                  (unsigned long long)w->kept);
    assert_true(w->followed > cuts);
    assert_true(w->lost > 0);
    assert_true(w->kept > 0 || fault_stride() > 1); /* of a thousand some ten are */
}

static int set_up(void **state)
{
    virtual_silence();
    return store_world_make_of(state, sizeof(struct world));
}

#define POWER_CUT_TEST(name) TEST_OF(struct world *w, NULL, set_up, store_world_remove, name)

POWER_CUT_TEST(nothing_that_came_back_is_lost)
{
    run_disks(w, "power", CUTS / fault_stride());
}

POWER_CUT_TEST(nor_is_what_a_start_found_that_followed_a_kill)
{
    uint32_t kills = KILLS / fault_stride();
    for (uint32_t n = 0; n < kills / CUTS_OF_A_DISK; n++)
        run_killed(w, FIRST_SEED + n, CUTS_OF_A_DISK);
    print_message("%u kills: %llu commits that were not synced were found\n", kills,
                  (unsigned long long)w->kept);
    assert_true(w->kept > 0 || fault_stride() > 1); /* of a thousand some ten are */
}

POWER_CUT_TEST(nor_when_a_sync_failed_before)
{
    w->syncs_fail = true;
    run_disks(w, "power and syncs", CUTS / fault_stride());
}
