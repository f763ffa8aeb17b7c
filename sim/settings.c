#include "sim/settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "sim/chance.h"
#include "sim/record.h"
#include "sim/trace.h"

enum { OTHERS_MAX = 4, OTHER_ONE_IN = 4 };

/* The promises do not depend on these settings. */
static const struct {
    const char *flag, *plain, *others[OTHERS_MAX + 1];
} rows[] = {
    {"--loops", "2", {"1", "3"}},
    {"--manager-place", "own", {"loop"}},
    {"--blocking", "2", {"1", "0"}},
    {"--blocking-max", "3", {"2"}},
    {"--blocking-queue", "64", {"1"}},
    {"--stepped-queue", "128", {"1"}},
    {"--executors-bound", "measured", {"fixed"}},
    {"--shortcut", "true", {"false"}},
    {"--measure", "occupancy", {"length", "priority", "weight", "completion"}},
    {"--tasks-ageing", "10s", {"off", "100ms"}},
    {"--tasks-crashes", "3", {"2", "0"}},
    {"--tasks-events", "16384", {"64"}},
    {"--limits-in-flight", "1024", {"16"}},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Its place; that of the next, if it is not there. */
static int find(const struct sim_flags *f, const char *flag)
{
    size_t len = strlen(flag);
    int n = 0;
    while (n < f->count && (strncmp(f->text[n], flag, len) != 0 || f->text[n][len] != '='))
        n++;
    return n;
}

bool sim_flag_is_set(const struct sim_flags *f, const char *flag)
{
    return find(f, flag) < f->count;
}

const char *sim_flag_value(const struct sim_flags *f, const char *flag)
{
    int n = find(f, flag);
    require(n < f->count, "unknown flag: no row of the settings has it");
    return f->text[n] + strlen(flag) + 1;
}

void sim_flag_set(struct sim_flags *f, const char *flag, const char *value)
{
    int n = find(f, flag);
    require(n < SIM_FLAGS_MAX, "too many flags");
    snprintf(f->text[n], sizeof *f->text, "%s=%s", flag, value);
    f->words[n] = f->text[n];
    if (n == f->count)
        f->words[++f->count] = NULL;
}

void sim_flags_plain(struct sim_flags *f)
{
    f->count = 0;
    for (int n = 0; n < ROWS; n++)
        sim_flag_set(f, rows[n].flag, rows[n].plain);
}

static const char *any_other(int row)
{
    uint64_t count = 0;
    while (rows[row].others[count])
        count++;
    return rows[row].others[sim_below(SIM_SHAPE, count)];
}

void sim_flags_draw(struct sim_flags *f)
{
    bool some = sim_one_in(SIM_SHAPE, 2);
    sim_flags_plain(f);
    for (int n = 0; some && n < ROWS; n++) {
        if (!sim_one_in(SIM_SHAPE, OTHER_ONE_IN))
            continue;
        const char *other = any_other(n);
        sim_flag_set(f, rows[n].flag, other);
        sim_record_flag(rows[n].flag, other);
        sim_tell("%s %s", rows[n].flag, other);
    }
}
