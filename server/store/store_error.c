/* Says what went wrong, and what to do about it. */
#include <stdarg.h>
#include <stdio.h>

#include "server/store/store_error.h"

#include "server/store/store.h"

const char *store_error_text(enum store_error e)
{
    switch (e) {
    case STORE_OK:
        return "the store works";
    case STORE_FULL:
        return "the disk of the store is full; make room, and it goes on by itself";
    case STORE_READ_ONLY:
        return "the store's file cannot be written; give the server the right to write it";
    case STORE_MOVED:
        return "the store's file was moved or removed; put it back, and it goes on by itself";
    case STORE_CORRUPT:
        return "the store's file is damaged; stop the server and repair or replace it";
    case STORE_IO:
        return "the store's file cannot be written: its device fails, or somebody else holds it "
               "locked; the "
               "log says more";
    case STORE_MEMORY:
        return "no memory for the store";
    case STORE_AWAY:
        return "the store's database cannot be reached; it goes on by itself as soon as it can";
    case STORE_FENCED:
        return "another node of the cluster owns the tasks now";
    case STORE_UNSURE:
        return "the store's database did not answer in time, so it may have been written; look "
               "before you do it again";
    case STORE_CLOSED:
        return "the store is closed: the server is shutting down";
    case STORE_UNREPLICATED:
        return "the database has no synchronous standby now; submit again later, or with durable: "
               "async, or see docs/cluster.md";
    case STORE_FOLLOWS:
        return "a change before this one could not be written; do it again";
    case STORE_REFUSED:
        return "the store has this already, has it no more, or it is larger than a row may be";
    }
    return "unknown";
}

static size_t add(char *error, size_t size, size_t len, const char *format, va_list args)
{
    int more = len < size ? vsnprintf(error + len, size - len, format, args) : 0;
    return more > 0 ? len + (size_t)more : len;
}

int store_damaged(char *error, size_t size, const char *path, const char *format, ...)
{
    int len = snprintf(error, size, "store %s: it is damaged: ", path);
    va_list args;
    va_start(args, format);
    size_t end = add(error, size, len > 0 ? (size_t)len : 0, format, args);
    va_end(args);
    if (end < size)
        snprintf(error + end, size - end,
                 "; put a copy in its place, or see `ergond --check-store FILE` and `ergon store "
                 "export FILE`, which saves what can be read");
    return -1;
}

int store_fail(char *error, size_t size, const char *path, const char *format, ...)
{
    int len = snprintf(error, size, "store %s: ", path);
    va_list args;
    va_start(args, format);
    if (len >= 0 && (size_t)len < size)
        vsnprintf(error + len, size - (size_t)len, format, args);
    va_end(args);
    return -1;
}
