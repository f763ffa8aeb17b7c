#include "client/cli/status.h"

#include <string.h>

static enum status status_of_code(const char *code)
{
    static const struct {
        const char *code;
        enum status status;
    } known[] = {
        {"AUTH", STATUS_AUTH},
        {"DENIED", STATUS_AUTH},
        {"DEADLINE", STATUS_TIMEOUT},
        {"NO_METHOD", STATUS_NOT_FOUND},
        {"NO_EXECUTOR", STATUS_NOT_FOUND},
        {"NOT_FOUND", STATUS_NOT_FOUND},
        {"BUSY", STATUS_LIMIT},
        {"TOO_LARGE", STATUS_LIMIT},
        {"DRAINING", STATUS_LIMIT},
        {"NO_WORKER", STATUS_LIMIT},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(code, known[i].code) == 0)
            return known[i].status;
    return STATUS_REMOTE;
}

enum status status_of(enum ergon_end outcome, const char *code)
{
    switch (outcome) {
    case ERGON_END_OK:
        return STATUS_OK;
    case ERGON_END_ERROR:
        return status_of_code(code);
    case ERGON_END_TIMEOUT:
        return STATUS_TIMEOUT;
    case ERGON_END_BROKEN:
    case ERGON_END_UNREACHABLE:
        return STATUS_CONNECT;
    case ERGON_END_DENIED:
        return STATUS_AUTH;
    case ERGON_END_INVALID:
        return STATUS_USAGE;
    case ERGON_END_CANCELLED:
    case ERGON_END_CLOSED:
    case ERGON_END_MEMORY:
        return STATUS_REMOTE;
    }
    return STATUS_REMOTE;
}
