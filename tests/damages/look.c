#include "tests/damages/look.h"

#include <ergon/handler.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/jobs/core/states.h"
#include "server/jobs/persist/actor_rows.h"
#include "server/jobs/persist/codec.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_life.h"
#include "tests/support/store_files.h"

enum {
    LINES = 1 << 23, /* bytes: an export */
    FINDINGS = 1 << 16,
    HANGS = 120 /* s, a round */
};

/* --- Which one it was --- */

static volatile sig_atomic_t current; /* the number of the damage at hand */

static void tell_current(int number)
{
    char text[80];
    int len =
        snprintf(text, sizeof text, "signal %d at ERGON_DAMAGES_FROM=%d\n", number, (int)current);
    if (write(STDERR_FILENO, text, (size_t)len) < 0)
        _exit(1);
    signal(number, SIG_DFL);
    raise(number);
}

void look_begin(void)
{
    const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGALRM};
    for (size_t n = 0; n < sizeof fatal / sizeof *fatal; n++)
        signal(fatal[n], tell_current);
}

void look_at(uint64_t number)
{
    current = (sig_atomic_t)number;
    alarm(HANGS);
}

uint64_t look_current(void)
{
    return (uint64_t)current;
}

uint64_t look_from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* --- One file --- */

static void never_run(struct ergon_task *task)
{
}

ERGON_MODULE(damages_module, "damages", "1.0")
{
    static const struct ergon_handler work = {
        .size = sizeof work, .kind = ERGON_BLOCKING, .name = "work", .run = never_run};
    return ergon_register(module, &work);
}

static struct store_offline offline(const char *path)
{
    return (struct store_offline){.path = path,
                                  .states = job_state_names,
                                  .state_count = JOB_STATE_COUNT,
                                  .task_fault = row_check_task,
                                  .event_fault = row_check_event,
                                  .rate_fault = row_check_rate,
                                  .semaphore_fault = row_check_semaphore,
                                  .hold_fault = row_check_hold,
                                  .cron_fault = row_check_cron,
                                  .actor_fault = row_check_actor,
                                  .actor_type_fault = row_check_actor_type,
                                  .batch_fault = row_check_batch};
}

enum store_offline_end look_check(const char *path)
{
    char text[FINDINGS] = "";
    const struct store_offline o = offline(path);
    FILE *out = fmemopen(text, sizeof text, "w");
    enum store_offline_end end = store_check(&o, out, out);
    fclose(out);
    assert_true(end == OFFLINE_GOOD || text[0]);
    return end;
}

static void import(const char *to, const char *lines, size_t len)
{
    char errors[FINDINGS] = "";
    const struct store_files none = {0};
    const struct store_offline o = offline(to);
    FILE *in = fmemopen((void *)(uintptr_t)lines, len, "r");
    FILE *said = fmemopen(errors, sizeof errors, "w");
    store_files_write(&none, to);
    bool imported = store_import(&o, in, said) == OFFLINE_GOOD;
    fclose(in);
    fclose(said);
    /* Files of former versions may have such texts: the import names their lines. */
    bool has_zero = !imported && strstr(errors, "has U+0000, which no store takes");
    bool sound = has_zero || (imported && look_check(to) == OFFLINE_GOOD);
    if (!sound)
        fprintf(stderr, "ERGON_DAMAGES_FROM=%d: %s", (int)current,
                imported ? "the copy is not sound\n" : errors);
    assert_true(sound);
}

bool look_save(const char *from, const char *to)
{
    static char lines[LINES];
    char errors[FINDINGS] = "";
    const struct store_offline o = offline(from);
    FILE *out = fmemopen(lines, sizeof lines, "w"), *said = fmemopen(errors, sizeof errors, "w");
    enum store_offline_end end = store_export(&o, out, said);
    size_t len = (size_t)ftell(out);
    fclose(out);
    fclose(said);
    assert_in_range(len, 0, sizeof lines - 2);
    bool saved = end != OFFLINE_UNREADABLE && strstr(lines, "{\"counters\"");
    if (saved)
        import(to, lines, len);
    else
        assert_string_not_equal(errors, "");
    return saved;
}

bool look_start(const char *path, unsigned rounds, char error[static LOOK_TEXT])
{
    struct jobs_life v;
    bool started = jobs_life_begin(&v, path, ergon_module(), error, LOOK_TEXT);
    for (; started && rounds > 0; rounds--)
        activator_round(v.loop, false);
    jobs_life_end(&v);
    if (!started)
        assert_string_not_equal(error, "");
    return started;
}
