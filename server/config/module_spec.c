#include "server/config/module_spec.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define SECOND UINT64_C(1000000000)
#define DAY    (86400 * SECOND)

static bool read_count(struct span text, uint32_t most, uint32_t *out)
{
    uint32_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9' || n > most)
            return false;
        n = 10 * n + (uint32_t)(text.at[i] - '0');
    }
    *out = n;
    return text.len > 0 && n >= 1 && n <= most;
}

static bool is_off(struct span text)
{
    return span_is(text, "off");
}

static bool read_memory(struct span text, uint64_t *out)
{
    enum { LEAST = 32 << 20 }; /* the server's own code needs some */

    *out = 0;
    return is_off(text) || (units_size(text, out) && *out >= LEAST);
}

static bool read_stuck(struct span text, uint64_t *out)
{
    *out = 0;
    return is_off(text) || (units_duration(text, out) && *out >= SECOND && *out <= DAY);
}

/* What is wrong with it; NULL: nothing. */
static const char *read_option(struct span name, struct span value, struct module_spec *out)
{
    if (span_is(name, "process") && !value.at)
        return NULL;
    if (span_is(name, "processes"))
        return read_count(value, MODULE_PROCESSES_MAX, &out->processes)
                   ? NULL
                   : "processes is a number from 1 to 64";
    if (span_is(name, "slots"))
        return read_count(value, MODULE_SLOTS_MAX, &out->slots) ? NULL
                                                                : "slots is a number from 1 to 512";
    if (span_is(name, "memory"))
        return read_memory(value, &out->memory) ? NULL : "memory is a size of at least 32m, or off";
    if (span_is(name, "stuck"))
        return read_stuck(value, &out->stuck) ? NULL : "stuck is a duration from 1s to 1d, or off";
    return "an option of a module is process, processes=N, slots=N, memory=SIZE or stuck=DURATION";
}

static struct span until(const char *text, const char *ends)
{
    return span_of(text, strcspn(text, ends));
}

bool module_spec_read(const char *text, struct module_spec *out, char *error, size_t size)
{
    static const char ends[] = ",;";
    const char *wrong = NULL;
    struct span path = until(text, ends);
    const char *at = text + path.len;

    *out = (struct module_spec){
        .processes = 1, .slots = 256, .memory = UINT64_C(1) << 30, .stuck = 10 * SECOND};
    snprintf(out->path, sizeof out->path, "%.*s", (int)path.len, text);
    if (path.len == 0)
        wrong = "a module begins with its path, or with the name of one of the server's";
    out->is_process = *at != '\0';
    for (bool first = true; *at && !wrong; first = false) {
        struct span option = until(++at, ends), name = until(at, "=,;"), value = {0};
        if (name.len < option.len)
            value = span_of(at + name.len + 1, option.len - name.len - 1);
        wrong = first && !span_is(option, "process")
                    ? "the first option of a module is process, which the others are about"
                    : read_option(name, value, out);
        at += option.len;
    }
    if (wrong)
        snprintf(error, size, "\"%.150s\": %s", text, wrong);
    return !wrong;
}
