#include "client/bench/search.h"

#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>

enum { CLOSE_ENOUGH = 20 }; /* it ends when the two rates differ by a twentieth */

static const uint64_t RATE_MAX = UINT64_C(1000000000);

bool bench_objective_parse(const char *text, struct bench_objective *out)
{
    const char *equal = strchr(text, '=');
    size_t len = equal != NULL ? (size_t)(equal - text) : 0;
    *out = (struct bench_objective){.percent = 100};
    if (len < 2 || len >= sizeof out->name)
        return false;
    memcpy(out->name, text, len);
    if (strcmp(out->name, "max") != 0) {
        char *end = NULL;
        if (text[0] != 'p' || text[1] < '0' || text[1] > '9')
            return false;
        out->percent = strtod(out->name + 1, &end);
        if (*end != 0 || out->percent <= 0 || out->percent > 100)
            return false;
    }
    return units_duration(span_text(equal + 1), &out->limit_ns) && out->limit_ns > 0;
}

void bench_search_init(struct bench_search *s, uint64_t first)
{
    *s = (struct bench_search){.next = first};
}

bool bench_search_step(struct bench_search *s, bool met)
{
    if (met)
        s->good = s->next;
    else
        s->bad = s->next;
    if (s->bad == 0)
        s->next = s->good * 2;
    else if (s->good == 0)
        s->next = s->bad / 2;
    else
        s->next = s->good + (s->bad - s->good) / 2;
    bool between = s->bad > 0 && s->good > 0;
    if (++s->steps >= BENCH_SEARCH_STEPS || s->next == 0 || s->next > RATE_MAX)
        return false;
    return !between || (s->bad - s->good > s->bad / CLOSE_ENOUGH && s->next > s->good);
}
