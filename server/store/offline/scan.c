#include "server/store/offline/scan.h"

#include <stddef.h>

struct walk {
    sqlite3_stmt *st;
    const struct scan *scan;
    int64_t from;       /* the number that is looked for next */
    int64_t before, at; /* of the last two rows */
    bool any, ended;    /* a new row came since `from` was set; there is no more to come */
    unsigned stuck;     /* so many times in a row none did */
};

static int64_t plus(int64_t number, uint64_t step)
{
    bool over = step > (uint64_t)INT64_MAX - (uint64_t)number;
    return over ? INT64_MAX : (int64_t)((uint64_t)number + step);
}

static bool can_read(struct walk *w, int64_t number)
{
    sqlite3_reset(w->st);
    sqlite3_bind_int64(w->st, 1, number);
    int rc = sqlite3_step(w->st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

/* The least number behind `from` from which on there is something to read again, looked for in
 * larger and larger steps, and then between the last two; INT64_MAX: there is none. */
static int64_t next_readable(struct walk *w, int64_t from)
{
    uint64_t step = 1;
    int64_t bad = from, good = plus(from, step);
    while (good != INT64_MAX && !can_read(w, good)) {
        bad = good;
        step *= 2;
        good = step == 0 ? INT64_MAX : plus(from, step);
    }
    while ((uint64_t)good - (uint64_t)bad > 1) {
        int64_t middle = plus(bad, ((uint64_t)good - (uint64_t)bad) / 2);
        if (can_read(w, middle))
            good = middle;
        else
            bad = middle;
    }
    return good;
}

static void give(struct walk *w)
{
    int64_t number = sqlite3_column_int64(w->st, 0);
    enum scan_row end = w->scan->row(w->scan->arg, w->st);
    w->before = w->any ? w->at : number;
    w->at = number;
    w->any = w->any || end == SCAN_NEW;
    w->ended = end == SCAN_STOP;
}

/* Behind the rows that came.  A number that lost a bit may be far too high, so that of the last two
 * the lower one counts; and a scan that is led in a circle goes on in larger and larger steps. */
static void go_on(struct walk *w)
{
    int64_t last = w->before < w->at ? w->before : w->at;
    if (w->any && last >= w->from) {
        w->stuck = 0;
        w->from = plus(last, 1);
        if (can_read(w, w->from))
            return;
    }
    int64_t bad = w->from, next = next_readable(w, bad);
    next = plus(next, ((uint64_t)1 << w->stuck) - 1);
    w->stuck += w->stuck < 62;
    w->scan->gap(w->scan->arg, bad, next);
    w->from = next;
    w->ended = next == INT64_MAX;
}

int scan_table(sqlite3 *db, const char *sql, const struct scan *scan)
{
    struct walk w = {.scan = scan, .from = INT64_MIN};
    int rc = sqlite3_prepare_v2(db, sql, -1, &w.st, NULL);
    if (rc != SQLITE_OK)
        return rc;
    while (!w.ended) {
        w.any = false;
        w.before = w.at = w.from;
        sqlite3_reset(w.st);
        sqlite3_bind_int64(w.st, 1, w.from);
        while (!w.ended && (rc = sqlite3_step(w.st)) == SQLITE_ROW)
            give(&w);
        if (rc == SQLITE_DONE)
            break;
        if (!w.ended)
            go_on(&w);
    }
    sqlite3_finalize(w.st);
    return SQLITE_OK;
}
