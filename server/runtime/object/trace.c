#include "server/runtime/object/trace.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_MAX_BYTES = 512, NAME_COLUMN = 10 };

/* Writes "conn 1", padded so that the text after it is aligned. */
static int put_head(char *line, size_t size, ao_time ms, const char *name, unsigned long id)
{
    char head[64];
    if (id)
        snprintf(head, sizeof head, "%s %lu", name, id);
    else
        snprintf(head, sizeof head, "%s", name);
    return snprintf(line, size, "[%4llu] %-*s ", (unsigned long long)ms, NAME_COLUMN, head);
}

void trace_write(struct trace *trace, ao_time now, const char *name, unsigned long id,
                 const char *format, ...)
{
    if (!trace)
        return;
    char line[LINE_MAX_BYTES];
    int head = put_head(line, sizeof line, (now - trace->began) / AO_MS(1), name, id);
    va_list args;
    va_start(args, format);
    vsnprintf(line + head, sizeof line - (size_t)head, format, args);
    va_end(args);
    trace->line(trace->arg, line);
}
