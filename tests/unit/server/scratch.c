#include "tests/unit/server/scratch.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/cmocka_env.h"

enum { FLAGS_MAX = 16 };

void scratch_open(struct scratch *s)
{
    *s = (struct scratch){.directory = "/tmp/ergon-config-XXXXXX"};
    assert_non_null(mkdtemp(s->directory));
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

void scratch_close(struct scratch *s)
{
    assert_int_equal(nftw(s->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void make_parents(struct scratch *s)
{
    for (char *slash = s->path + strlen(s->directory) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(s->path, 0700);
        *slash = '/';
    }
}

const char *scratch_write(struct scratch *s, const char *name, const char *content)
{
    snprintf(s->path, sizeof s->path, "%s/%s", s->directory, name);
    make_parents(s);
    FILE *out = fopen(s->path, "we");
    assert_non_null(out);
    assert_true(fputs(content, out) >= 0);
    assert_int_equal(fclose(out), 0);
    return s->path;
}

/* What a problem says must not depend on where the test ran. */
static void cut_directory(struct scratch *s)
{
    size_t length = strlen(s->directory) + 1;

    for (char *at; (at = strstr(s->errors, s->directory));)
        memmove(at, at + length, strlen(at + length) + 1);
}

struct config *scratch_load(struct scratch *s, const char *yaml, const char *const *env,
                            const char *const *flags)
{
    static const char *const none[] = {NULL};
    char *argv[FLAGS_MAX + 4] = {"ergond"};
    int argc = 1;
    FILE *errors = fmemopen(s->errors, sizeof s->errors - 1, "w");

    memset(s->errors, 0, sizeof s->errors);
    if (yaml) {
        argv[argc++] = "--config";
        argv[argc++] = (char *)(uintptr_t)scratch_write(s, "ergond.yaml", yaml);
    }
    for (; flags && *flags; flags++)
        argv[argc++] = (char *)(uintptr_t)*flags;
    struct config_input in = {argc, argv, (char *const *)(uintptr_t)(env ? env : none), errors};
    struct config *c = config_load(&in, &s->action);
    fclose(errors);
    cut_directory(s);
    return c;
}

struct config *scratch_accepted(struct scratch *s, const char *yaml, const char *const *env,
                                const char *const *flags)
{
    struct config *c = scratch_load(s, yaml, env, flags);

    assert_string_equal(s->errors, "");
    assert_non_null(c);
    return c;
}

void scratch_refused(struct scratch *s, const char *yaml, const char *const *env,
                     const char *const *flags, const char *errors)
{
    assert_null(scratch_load(s, yaml, env, flags));
    assert_string_equal(s->errors, errors);
}
