/* Delta debugging, after Zeller and Hildebrandt (2002): larger parts are left out first, then
 * single lines; then what is left is made plainer. */
#include "sim/shrink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "sim/params.h"
#include "sim/try.h"

enum {
    PATIENCE_S = 110,
    SCHEDULES = 64, /* tried where the plain one does not fail */
    NEARBY = 6,     /* of them, when something was left out */
    STALL_MS = 20
};

static struct {
    char key[SIM_KEY];
    char finding[SIM_FINDING_MAX]; /* of the last that failed */
    struct timespec until;
    uint32_t tries;
} hunt;

/* By the system's clock: that of the world stands in this process. */
int __real_clock_gettime(clockid_t id, struct timespec *out);

static bool is_over(void)
{
    struct timespec now;
    __real_clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec >= hunt.until.tv_sec;
}

/* --- Does it fail in the same way? --- */

static bool fails_once(const struct sim_script *s)
{
    struct sim_outcome o = sim_try_script(s);
    hunt.tries++;
    if (!o.failed || strcmp(o.key, hunt.key) != 0)
        return false;
    strcpy(hunt.finding, o.finding);
    return true;
}

static struct sim_line *schedule_of(const struct sim_script *s)
{
    for (uint32_t n = 0; n < s->count; n++)
        if (s->lines[n].kind == SIM_LINE_SCHEDULE)
            return &s->lines[n];
    return NULL;
}

/* Under the schedule that it names, or a few others: then it names that one. */
static bool fails(const struct sim_script *s, uint32_t schedules)
{
    struct sim_line *schedule = schedule_of(s);
    if (fails_once(s))
        return true;
    uint64_t was = schedule ? schedule->number : 0;
    for (uint64_t n = 1; schedule && n <= schedules && !is_over(); n++) {
        schedule->number = n;
        if (n != was && fails_once(s))
            return true;
    }
    if (schedule)
        schedule->number = was;
    return false;
}

/* --- Scripts --- */

static struct sim_script copy(const struct sim_script *s)
{
    struct sim_script c = {.lines = calloc(s->count + 1, sizeof *c.lines), .count = s->count};
    require(c.lines != NULL, "no memory for a script");
    memcpy(c.lines, s->lines, s->count * sizeof *c.lines);
    return c;
}

static struct sim_script without(const struct sim_script *s, uint32_t from, uint32_t to)
{
    struct sim_script c = copy(s);
    memmove(&c.lines[from], &c.lines[to], (s->count - to) * sizeof *c.lines);
    c.count = s->count - (to - from);
    return c;
}

static struct sim_script without_kind(const struct sim_script *s, enum sim_line_kind kind)
{
    struct sim_script c = copy(s);
    c.count = 0;
    for (uint32_t n = 0; n < s->count; n++)
        if (s->lines[n].kind != kind)
            c.lines[c.count++] = s->lines[n];
    return c;
}

static void insert(struct sim_script *s, uint32_t at, const struct sim_line *l)
{
    memmove(&s->lines[at + 1], &s->lines[at], (s->count - at) * sizeof *s->lines);
    s->lines[at] = *l;
    s->count++;
}

/* Takes `c` for `s` if it fails as well; else drops it. */
static bool take_if_fails(struct sim_script *s, struct sim_script c, uint32_t schedules)
{
    bool good = fails(&c, schedules);
    struct sim_script dropped = good ? *s : c;
    if (good)
        *s = c;
    free(dropped.lines);
    return good;
}

/* --- Fewer lines --- */

static bool leave_out_chunks(struct sim_script *s, uint32_t size)
{
    bool any = false;
    /* From the end: what comes later needs what came before. */
    for (uint32_t to = s->count; to > 0 && !is_over();) {
        uint32_t from = to > size ? to - size : 0;
        any |= take_if_fails(s, without(s, from, to), NEARBY);
        to = from;
    }
    return any;
}

static void leave_out(struct sim_script *s)
{
    for (uint32_t size = (s->count + 1) / 2; size > 1 && !is_over(); size = (size + 1) / 2)
        leave_out_chunks(s, size);
    while (s->count > 0 && !is_over() && leave_out_chunks(s, 1))
        ;
}

/* --- Plainer ones --- */

static void round_time(struct sim_line *l, uint64_t us)
{
    l->at = l->at / us * us;
    if (l->kind == SIM_LINE_STALL)
        l->number = l->number / us * us + us;
}

static void merge_clients(struct sim_line *l, uint64_t arg)
{
    (void)arg;
    l->client = 0;
}

static void soften_end(struct sim_line *l, uint64_t arg)
{
    (void)arg;
    if (l->kind == SIM_LINE_END && l->how > 0)
        l->how--;
}

static void be_noisy(struct sim_line *l, uint64_t arg)
{
    (void)arg;
    l->quiet = false;
}

static void set_first_number(struct sim_line *l, uint64_t to)
{
    char *at = strpbrk(l->params, "0123456789"), rest[SIM_PARAMS];
    if (l->kind != SIM_LINE_REQUEST || strchr(l->params, '$') || !at || at[-1] == '"')
        return;
    strcpy(rest, at + strspn(at, "0123456789"));
    snprintf(at, sizeof l->params - (size_t)(at - l->params), "%" PRIu64 "%s", to, rest);
}

static void change_all(struct sim_script *s, void (*change)(struct sim_line *l, uint64_t arg),
                       uint64_t arg)
{
    struct sim_script c = copy(s);
    for (uint32_t n = 0; n < c.count; n++)
        change(&c.lines[n], arg);
    take_if_fails(s, c, NEARBY);
}

static void change_each(struct sim_script *s, void (*change)(struct sim_line *l, uint64_t arg),
                        uint64_t arg)
{
    for (uint32_t n = 0; n < s->count && !is_over(); n++) {
        struct sim_script c = copy(s);
        change(&c.lines[n], arg);
        if (memcmp(&c.lines[n], &s->lines[n], sizeof c.lines[n]) == 0)
            free(c.lines);
        else
            take_if_fails(s, c, NEARBY);
    }
}

static void leave_out_options(struct sim_script *s)
{
    for (uint32_t line = 0; line < s->count; line++)
        for (uint32_t n = 0; s->lines[line].kind == SIM_LINE_REQUEST && !is_over();) {
            struct sim_script c = copy(s);
            char *to = c.lines[line].params;
            bool any = sim_params_without(s->lines[line].params, n, to, SIM_PARAMS);
            if (!any)
                free(c.lines);
            if (!any)
                break;
            n += !take_if_fails(s, c, NEARBY);
        }
}

/* --- For the reader: this changes nothing, or is not done --- */

static bool moves(const struct sim_line *l)
{
    return l->kind >= SIM_LINE_REQUEST && l->kind != SIM_LINE_END;
}

/* Within a life, by time. */
static void sort(struct sim_script *s)
{
    struct sim_script c = copy(s);
    for (uint32_t n = 1; n < c.count; n++)
        for (uint32_t at = n; at > 0 && moves(&c.lines[at]) && moves(&c.lines[at - 1]) &&
                              c.lines[at].at < c.lines[at - 1].at;
             at--) {
            struct sim_line l = c.lines[at];
            c.lines[at] = c.lines[at - 1];
            c.lines[at - 1] = l;
        }
    take_if_fails(s, c, 0);
}

/* Other digits behind each "$t" of this number.  True: there was one. */
static bool rename_in(char *params, uint64_t from, uint64_t to)
{
    char was[32], rest[SIM_PARAMS], *at;
    bool any = false;
    snprintf(was, sizeof was, "\"$t%" PRIu64 "\"", from);
    for (at = params; (at = strstr(at, was)); at++) {
        strcpy(rest, at + strlen(was));
        snprintf(at, SIM_PARAMS - (size_t)(at - params), "\"$t%" PRIu64 "\"%s", to, rest);
        any = true;
    }
    return any;
}

/* Labels from 1 on, and none that nothing names.  They grow from line to line, so that no new one
 * is an old one of a later line. */
static void number_labels(struct sim_script *s)
{
    struct sim_script c = copy(s);
    uint64_t next = 1;
    for (uint32_t n = 0; n < c.count; n++) {
        uint64_t was = c.lines[n].label;
        bool named = false;
        for (uint32_t m = 0; was && m < c.count; m++)
            named |= rename_in(c.lines[m].params, was, next);
        c.lines[n].label = named ? next++ : 0;
    }
    take_if_fails(s, c, 0);
}

static void make_plainer(struct sim_script *s)
{
    static const uint64_t us[] = {1000, 10000, 100000};
    change_all(s, merge_clients, 0);
    change_each(s, soften_end, 0);
    change_each(s, soften_end, 0);
    change_each(s, be_noisy, 0);
    leave_out_options(s);
    change_each(s, set_first_number, 1);
    for (size_t n = 0; n < sizeof us / sizeof *us; n++) {
        change_all(s, round_time, us[n]);
        change_each(s, round_time, us[n]);
    }
}

/* --- From a schedule by chance to the plain one and a stall --- */

static const char *const fibers[] = {"store", "manager",    "loop-0",     "loop-1",
                                     "main",  "blocking-0", "blocking-1", "blocking-2"};
static const char *const points[] = {"announce", "announced", "notify", "poll", "lock", "post"};

/* At one point of one thread, just before something else is due. */
static bool stalls_before(struct sim_script *s, uint32_t line, const char *fiber, const char *point)
{
    struct sim_script c = without_kind(s, SIM_LINE_SCHEDULE);
    struct sim_line stall = {.kind = SIM_LINE_STALL, .number = STALL_MS * 1000};
    stall.at = s->lines[line].at;
    strncpy(stall.fiber, fiber, sizeof stall.fiber - 1);
    strncpy(stall.point, point, sizeof stall.point - 1);
    for (uint32_t n = 0; n < c.count; n++)
        if (memcmp(&c.lines[n], &s->lines[line], sizeof *c.lines) == 0) {
            insert(&c, n, &stall);
            return take_if_fails(s, c, 0);
        }
    free(c.lines);
    return false;
}

static bool stalls_anywhere(struct sim_script *s)
{
    for (uint32_t line = s->count; line-- > 0 && !is_over();)
        for (size_t f = 0; f < sizeof fibers / sizeof *fibers; f++)
            for (size_t p = 0; p < sizeof points / sizeof *points && !is_over(); p++)
                if (s->lines[line].kind == SIM_LINE_REQUEST &&
                    stalls_before(s, line, fibers[f], points[p]))
                    return true;
    return false;
}

/* The last death comes `us` behind the last request before it. */
static void hasten_end(struct sim_script *s, uint64_t us)
{
    uint32_t n = s->count;
    while (n > 0 && s->lines[n - 1].kind != SIM_LINE_END)
        n--;
    for (uint32_t before = n; n > 0 && before-- > 0;)
        if (s->lines[before].kind == SIM_LINE_REQUEST) {
            s->lines[n - 1].at = s->lines[before].at + us;
            s->lines[n - 1].quiet = false;
            return;
        }
}

/* Where a stall, or a death that comes early, makes the plain schedule fail, that is said in the
 * place of the chance. */
static void drop_schedule(struct sim_script *s)
{
    static const uint64_t soon[] = {1000, 5000, 10000, 20000};
    for (size_t n = 0; n < sizeof soon / sizeof *soon; n++) {
        struct sim_script c = without_kind(s, SIM_LINE_SCHEDULE);
        hasten_end(&c, soon[n]);
        if (take_if_fails(s, c, 0))
            return;
    }
    if (stalls_anywhere(s))
        return;
    for (size_t n = 0; n < sizeof soon / sizeof *soon && !is_over(); n++) {
        struct sim_script c = copy(s);
        hasten_end(&c, soon[n]);
        bool any = stalls_anywhere(&c);
        struct sim_script dropped = any ? *s : c;
        if (any)
            *s = c;
        free(dropped.lines);
        if (any)
            return;
    }
}

/* --- All of it --- */

/* What fails without chance, and with as little as there may be; false: nothing does. */
static bool find_first(struct sim_script *s)
{
    static const struct sim_line schedule = {.kind = SIM_LINE_SCHEDULE, .number = 1};
    if (take_if_fails(s, without_kind(s, SIM_LINE_STALL), 0) || fails(s, 0))
        return true;
    struct sim_script c = without_kind(s, SIM_LINE_STALL);
    insert(&c, 0, &schedule);
    return take_if_fails(s, c, SCHEDULES);
}

static bool write_to(const char *path, const struct sim_script *s, uint64_t seed)
{
    FILE *to = fopen(path, "w");
    if (!to) {
        perror(path);
        return false;
    }
    fprintf(to, "# %s\n# Found by seed %" PRIu64 "; %" PRIu32 " lines.\n", hunt.finding, seed,
            s->count);
    sim_script_write(to, s);
    return fclose(to) == 0;
}

bool sim_shrink(uint64_t seed, const char *path)
{
    struct sim_script s;
    struct sim_outcome o = sim_try_seed(seed, &s);
    if (!o.failed) {
        fprintf(stderr, "seed %" PRIu64 " does not fail\n", seed);
        return false;
    }
    strcpy(hunt.key, o.key);
    __real_clock_gettime(CLOCK_MONOTONIC, &hunt.until);
    hunt.until.tv_sec += PATIENCE_S;
    uint32_t had = s.count;
    if (!find_first(&s)) {
        fprintf(stderr, "seed %" PRIu64 " fails (%s), but none of %" PRIu32 " scripts does\n", seed,
                o.finding, hunt.tries);
        return false;
    }
    leave_out(&s);
    if (schedule_of(&s))
        drop_schedule(&s);
    make_plainer(&s);
    leave_out(&s);
    sort(&s);
    number_labels(&s);
    printf("seed %" PRIu64 ": %" PRIu32 " lines of %" PRIu32 " are left, after %" PRIu32 " tries\n",
           seed, s.count, had, hunt.tries);
    return write_to(path, &s, seed);
}
