/* Files of a store with damages by chance: each is refused with a text, or read; nobody aborts,
 * hangs, or takes a changed task for what was written where it can be known.  Beside them stands
 * FILE-running, with damages of its own: it holds up no start.
 *
 * The files are those that servers leave: closed in order, killed, killed after the log was begun
 * anew more than once.  A damage is a bit, up to 17 bits, a page or a run of zeros, a page twice, a
 * cut, garbage, or a file that is missing or empty.  Each copy is checked, exported, imported and
 * read, and jobs start on it.  What the check calls sound is read; no task is missing or older than
 * it was unless the end of the log was hit; and what was exported makes a sound store.  SQLite
 * finds one in some thousand damages only as the start writes: that is refused with a text, too.
 *
 * ERGON_DAMAGES says how many (300), ERGON_DAMAGES_FROM the first: each follows from its number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/jobs/core/states.h"
#include "server/jobs/persist/actor_rows.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/sched/board.h"
#include "server/store/chunk.h"
#include "tests/damages/base.h"
#include "tests/damages/damage.h"
#include "tests/damages/look.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/store_world.h"

enum {
    ROUNDS = 300,
    BASES = 2,
    TEXT = 600,
    SEED = 20,
    BOARD_PLACE = 24 /* byte: device and inode of the file */
};

struct tally {
    uint64_t refused, equal, older, payload, sound;
};

struct world {
    struct store_world at;
    struct base bases[BASES * BASE_ENDS];
    struct tally tally;
    struct store_part board;   /* FILE-running */
    char folder[STORE_FOLDER]; /* in memory; empty: there is none */
    char copy[STORE_PATH + 8];
};

/* --- What a store tells --- */

struct told {
    const struct base *base;
    bool there[BASE_TASKS];
    uint32_t strangers, older, changed; /* tasks */
    const char *fault;
};

static bool take_task(void *arg, const struct store_task *task)
{
    struct told *told = arg;
    uint32_t index = base_index(task->id);
    told->fault = row_check_task(task);
    if (told->fault)
        return false;
    if (index == BASE_TASKS || told->base->tasks[index].count == 0) {
        told->strangers++;
        return true;
    }
    const struct base_task *t = &told->base->tasks[index];
    uint64_t sum = base_sum(task);
    bool known = false;
    for (uint32_t n = 0; n < t->count; n++)
        known |= t->versions[n] == sum;
    told->there[index] = true;
    told->older += known && t->versions[t->count - 1] != sum;
    told->changed += !known;
    return true;
}

static bool take_event(void *arg, const struct store_event *event)
{
    struct told *told = arg;
    told->fault = row_check_event(event);
    return !told->fault;
}

static bool take_row(void *arg, const struct store_table *table, const void *row)
{
    struct told *told = arg;
    told->fault = table == &store_crons         ? row_check_cron(row)
                  : table == &store_rates       ? row_check_rate(row)
                  : table == &store_semaphores  ? row_check_semaphore(row)
                  : table == &store_holds       ? row_check_hold(row)
                  : table == &store_actor_types ? row_check_actor_type(row)
                  : table == &store_batches     ? row_check_batch(row)
                                                : NULL;
    return !told->fault;
}

static void take_counts(void *arg, const struct store_counts *counts)
{
}

/* Opens and reads; false: it was refused, with a text. */
static bool is_read(const char *path, struct told *told)
{
    char error[TEXT] = "";
    const struct store_options options = {
        .path = path, .states = job_state_names, .state_count = JOB_STATE_COUNT};
    static const struct store_table *const tables[] = {
        &store_queues, &store_rates,       &store_semaphores, &store_holds,
        &store_crons,  &store_actor_types, &store_batches};
    const struct store_reader reader = {.arg = told,
                                        .counts = take_counts,
                                        .task = take_task,
                                        .event = take_event,
                                        .tables = tables,
                                        .table_count = sizeof tables / sizeof *tables,
                                        .row = take_row,
                                        .fault = &told->fault};
    struct store *s = store_open(&options, error, sizeof error);
    bool read = s && store_load(s, &reader, error, sizeof error) == 0;
    store_close(s);
    if (!read)
        assert_non_null(strstr(error, path));
    return read;
}

static uint32_t missing(const struct told *told)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < BASE_TASKS; n++)
        count += told->base->tasks[n].there && !told->there[n];
    return count;
}

/* --- Actors, which are read by their key while a server runs --- */

static void see_actor(struct store_client *client, struct store_op *op)
{
    const struct store_actor *a = (const struct store_actor *)op->row;
    if (op->kind == STORE_ROW_GET && op->error == STORE_OK && op->found)
        *(uint32_t *)client->arg += row_check_actor(a) == NULL;
    free(op->bytes);
    store_chunk_free(op->chunk);
}

/* Each is there, or is not, or is refused, or the store says that it is damaged: how many are. */
static uint32_t actors_of(const char *path)
{
    char error[TEXT], key[16];
    uint32_t good = 0;
    struct store_client c = {.returned = see_actor, .arg = &good};
    const struct store_options options = {
        .path = path, .states = job_state_names, .state_count = JOB_STATE_COUNT};
    if (!client_open(&c, &options, error, sizeof error))
        return 0;
    for (uint32_t n = 0; n < BASE_ACTORS; n++) {
        struct store_op *op = client_row(n % 20 ? STORE_ROW_GET : STORE_ROW_PAGE, &store_actors);
        snprintf(key, sizeof key, "%u", 1000 + n);
        *(struct store_actor *)op->row =
            (struct store_actor){.type = span_text("cart"),
                                 .key = span_text(key),
                                 .tenant = n % 2 ? span_text("somebody") : span_of(NULL, 0)};
        op->limit = 100;
        client_push(&c, op);
    }
    client_wait(&c);
    client_close(&c);
    return good;
}

/* --- One damage --- */

/* FILE-running as a kill leaves it beside this very file: tasks of it ran, and returned. */
static void write_board(const struct world *w, const char *path, uint64_t *random)
{
    char name[STORE_PATH + 16];
    struct stat file = {0};
    struct store_files files = {.part = {[STORE_FILE] = {.there = true, .len = w->board.len}}};
    struct store_part *board = &files.part[STORE_FILE];
    stat(path, &file);
    board->at = malloc(board->len);
    assert_non_null(board->at);
    memcpy(board->at, w->board.at, board->len);
    const uint64_t place[] = {(uint64_t)file.st_dev, (uint64_t)file.st_ino};
    memcpy(board->at + BOARD_PLACE, place, sizeof place);
    damage_board(board, random);
    snprintf(name, sizeof name, "%s-running", path);
    store_files_write(&files, name);
    store_files_free(&files);
}

static void *segment(void *arg, uint32_t n, bool grow)
{
    return store_board_segment(arg, n, grow);
}

/* Takes what such a file looks like from one that a store has written, and puts attempts into it.
 */
static void make_board(struct world *w)
{
    char error[TEXT] = "", name[STORE_PATH + 16];
    enum store_board was;
    struct store_files files;
    const struct store_options options = client_options(w->at.path);
    struct store *s = store_open(&options, error, sizeof error);
    assert_non_null(s);
    assert_int_equal(store_board_open(s, &was, error, sizeof error), 0);
    assert_int_equal(store_board_renew(s, false, error, sizeof error), 0);
    struct board_memory memory = {.arg = s, .segment = segment};
    struct board *board = board_new(&memory);
    for (uint32_t n = 0; n < BASE_TASKS; n++) {
        struct job job = {.id = base_id(n)};
        struct board_place *place = board_take(board, &job, 1 + n % 5);
        assert_non_null(place);
        atomic_store_explicit(&place->slot->mark.stage, n % 3 ? MARK_BEGUN : MARK_OVER,
                              memory_order_relaxed);
    }
    board_free(board);
    store_close(s);
    snprintf(name, sizeof name, "%s-running", w->at.path);
    store_files_read(&files, name);
    w->board = files.part[STORE_FILE];
}

/* What can be read of it makes a sound store. */
static void saved(struct world *w)
{
    struct told told = {.base = &w->bases[0]};
    if (look_save(w->at.path, w->copy))
        assert_true(is_read(w->copy, &told));
}

static void compare(struct world *w, const struct damage *d, const struct told *told)
{
    bool whole = missing(told) == 0 && told->strangers == 0 && told->older == 0;
    if ((!d->log && told->changed == 0 && !whole) || (!d->payload && told->changed > 0))
        fprintf(
            stderr,
            "%s at ERGON_DAMAGES_FROM=%d: %u tasks are missing, %u strange, %u older, %u changed\n",
            d->kind, (int)look_current(), missing(told), told->strangers, told->older,
            told->changed);
    if (!d->log && told->changed == 0)
        assert_true(whole);
    if (!d->payload)
        assert_int_equal(told->changed, 0);
    w->tally.payload += told->changed > 0;
    w->tally.equal += told->changed == 0 && whole;
    w->tally.older += told->changed == 0 && !whole;
}

static void damage(struct world *w, uint64_t number)
{
    uint64_t random = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
    const struct base *base = &w->bases[(number / 7) % (BASES * BASE_ENDS)];
    struct told told = {.base = base};
    char error[LOOK_TEXT] = "";
    struct store_files files = store_files_copy(&base->files);
    look_at(number);
    struct damage d = damage_do(&files, &random);
    store_files_write(&files, w->at.path);
    enum store_offline_end check = look_check(w->at.path);
    if (number % 4 == 0)
        saved(w);
    bool read = is_read(w->at.path, &told);
    w->tally.refused += !read;
    w->tally.sound += check == OFFLINE_GOOD;
    if (check == OFFLINE_GOOD)
        assert_true(read);
    if (read)
        compare(w, &d, &told);
    uint32_t actors = read ? actors_of(w->at.path) : 0;
    if (check == OFFLINE_GOOD && !d.log && !d.payload)
        assert_int_equal(actors, BASE_ACTORS - BASE_ACTORS / 20);
    write_board(w, w->at.path, &random);
    bool started = look_start(w->at.path, 0, error);
    if (started)
        assert_true(read);
    if (!started) { /* whatever became of FILE-running; SQLite finds some damages as it writes */
        assert_null(strstr(error, "-running"));
        assert_true(check != OFFLINE_GOOD || strstr(error, "damaged"));
    }
    store_files_free(&files);
}

/* --- All --- */

static int open_world(void **state)
{
    int rc = store_world_make_of(state, sizeof(struct world));
    struct world *w = *state;
    strcpy(w->folder, "/dev/shm/ergon-damages-XXXXXX");
    if (mkdtemp(w->folder)) /* where there is none, the disk does as well, and takes longer */
        snprintf(w->at.path, sizeof w->at.path, "%s/tasks.db", w->folder);
    else
        w->folder[0] = '\0';
    snprintf(w->copy, sizeof w->copy, "%s.copy", w->at.path);
    for (uint64_t n = 0; n < BASES * BASE_ENDS; n++)
        base_make(&w->bases[n], w->at.path, (enum base_end)(n % BASE_ENDS), SEED + n);
    make_board(w);
    return rc;
}

static int close_world(void **state)
{
    struct world *w = *state;
    for (int n = 0; n < BASES * BASE_ENDS; n++)
        base_free(&w->bases[n]);
    free(w->board.at);
    char command[STORE_FOLDER + 16];
    snprintf(command, sizeof command, "rm -r %s", w->folder);
    assert_true(!w->folder[0] || system(command) == 0);
    return store_world_remove(state);
}

TEST_OF(struct world *w, NULL, open_world, close_world, what_is_damaged_is_refused_or_read)
{
    uint64_t from = look_from_environment("ERGON_DAMAGES_FROM", 0),
             count = look_from_environment("ERGON_DAMAGES", ROUNDS);
    look_begin();
    for (uint64_t n = from; n < from + count; n++)
        damage(w, n);
    const struct tally *t = &w->tally;
    printf("%llu damages: %llu refused with a text, %llu read as they were, %llu as they were "
           "before the end of the log, %llu with another payload that nobody can see; %llu were "
           "sound to the check\n",
           (unsigned long long)count, (unsigned long long)t->refused, (unsigned long long)t->equal,
           (unsigned long long)t->older, (unsigned long long)t->payload,
           (unsigned long long)t->sound);
}
