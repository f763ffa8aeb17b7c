#include "server/ledger/state.h"

const char *const ledger_state_names[LEDGER_STATE_COUNT] = {
#define X(name, text, open) [LEDGER_##name] = text,
    LEDGER_STATES(X)
#undef X
};

const char *const ledger_durable_names[] = {
    [LEDGER_NONE] = "none", [LEDGER_ASYNC] = "async", [LEDGER_FSYNC] = "fsync"};

bool ledger_state_open(enum ledger_state s)
{
    static const bool open[LEDGER_STATE_COUNT] = {
#define X(name, text, is_open) [LEDGER_##name] = (is_open),
        LEDGER_STATES(X)
#undef X
    };
    return open[s];
}

const char *ledger_reason_name(enum ledger_reason r)
{
    static const char *const names[LEDGER_REASON_COUNT] = {
#define X(name, text, meaning) [LEDGER_WHY_##name] = text,
        LEDGER_REASONS(X)
#undef X
    };
    return names[r];
}

const char *ledger_reason_meaning(enum ledger_reason r)
{
    static const char *const meanings[LEDGER_REASON_COUNT] = {
#define X(name, text, meaning) [LEDGER_WHY_##name] = meaning,
        LEDGER_REASONS(X)
#undef X
    };
    return meanings[r];
}

const char *ledger_event_name(enum ledger_event e)
{
    static const char *const names[LEDGER_EVENT_COUNT] = {
#define X(name, text) [LEDGER_EVENT_##name] = text,
        LEDGER_EVENTS(X)
#undef X
    };
    return names[e];
}

enum ledger_event ledger_event_of_end(enum ledger_state state)
{
    switch (state) {
    case LEDGER_DONE:
        return LEDGER_EVENT_DONE;
    case LEDGER_FAILED:
        return LEDGER_EVENT_FAILED;
    case LEDGER_CANCELLED:
        return LEDGER_EVENT_CANCELLED;
    case LEDGER_EXPIRED:
        return LEDGER_EVENT_EXPIRED;
    case LEDGER_DEAD:
        return LEDGER_EVENT_DEAD;
    case LEDGER_QUEUED:
    case LEDGER_DELAYED:
    case LEDGER_WAITING:
    case LEDGER_ASSIGNED:
    case LEDGER_RUNNING:
    case LEDGER_PARKED:
    case LEDGER_STATE_COUNT:
        return LEDGER_EVENT_COUNT;
    }
    return LEDGER_EVENT_COUNT;
}
