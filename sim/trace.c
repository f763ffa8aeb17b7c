#include "sim/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/schedule.h"

bool sim_verbose;
static uint64_t hash = 0xcbf29ce484222325;

/* FNV-1a, with a shift that carries high bits down. */
static void mix(uint64_t v)
{
    hash = (hash ^ v) * 0x100000001b3;
    hash ^= hash >> 29;
}

void sim_hash_number(uint64_t v)
{
    mix(v);
}

void sim_hash_bytes(struct span bytes)
{
    uint64_t word;
    size_t n = 0;
    mix(bytes.len);
    for (; n + sizeof word <= bytes.len; n += sizeof word) {
        memcpy(&word, bytes.at + n, sizeof word);
        mix(word);
    }
    for (; n < bytes.len; n++)
        mix(bytes.at[n]);
}

uint64_t sim_hash(void)
{
    return hash;
}

static void write_line(const char *format, va_list args)
{
    uint64_t us = sim_now() / 1000;
    fprintf(stderr, "%4" PRIu64 ".%06" PRIu64 " %-12s ", us / 1000000, us % 1000000,
            sim_fiber_name());
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void sim_tell(const char *format, ...)
{
    if (!sim_verbose)
        return;
    va_list args;
    va_start(args, format);
    write_line(format, args);
    va_end(args);
}

static char *found;
static size_t found_size;
static size_t begun; /* bytes of the first finding's beginning; 0: there is no finding yet */

void sim_finding_to(char *text, size_t size)
{
    found = text;
    found_size = size;
}

void sim_finding_begin(const char *text)
{
    if (!found || begun > 0)
        return;
    snprintf(found, found_size, "%s", text);
    begun = strlen(found);
}

bool sim_finding_begun(void)
{
    return begun > 0;
}

void sim_found(const char *text, int status)
{
    bool is_other = begun > 0 && strncmp(text, found, begun) != 0;
    if (found && !is_other)
        snprintf(found, found_size, "%s", text);
    else if (!found)
        fputs(text, stderr);
    fflush(stdout);
    _exit(is_other ? SIM_FOUND : status);
}

void sim_finding(const char *format, ...)
{
    va_list args;
    if (begun > 0 && !sim_verbose)
        _exit(SIM_FOUND);
    if (found && begun == 0) {
        va_start(args, format);
        vsnprintf(found, found_size, format, args);
        va_end(args);
    }
    va_start(args, format);
    fputs("finding:\n", stderr);
    write_line(format, args);
    va_end(args);
    fflush(stderr);
    _exit(SIM_FOUND);
}
