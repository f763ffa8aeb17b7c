/* What the compiler must refuse; seq_misuse_test.sh compiles it once for each CASE.  0 is right. */
#include <ergon/seq.h>

enum colour { RED, GREEN };

struct thing {
    struct ao ao;
    struct ao_seq seq;
    struct ao_wait wait;
    struct ao_completion done;
    enum colour colour;
    int number;
};

enum ao_verdict step(struct ao *self);
enum ao_verdict step(struct ao *self)
{
    struct thing *t = ao_of(self, struct thing, ao);

#if CASE != 5
    AO_BEGIN(&t->seq);
#endif
#if CASE == 0
    while (t->number-- > 0) {
        int scratch = t->number;
        if (scratch == 3)
            break;
    }
    {
        int scratch = t->number;
        t->number = scratch + 1;
    }
    AO_AWAIT_FOR(self, &t->seq, &t->wait, AO_MS(1), ao_completion_await(&t->done, &t->wait));
#elif CASE == 1
    switch (t->number) {
    case 1:
        AO_YIELD(&t->seq);
        break;
    }
#elif CASE == 2
    switch (t->colour) {
    case RED:
        AO_SLEEP(self, &t->seq, AO_MS(1));
        break;
    case GREEN:
        break;
    }
#elif CASE == 3
    /* clang-format off */
    AO_YIELD(&t->seq); AO_YIELD(&t->seq);
    /* clang-format on */
#elif CASE == 6
    AO_YIELD(&t->number);
#elif CASE == 7
    for (int i = 0; i < 3; i++)
        AO_YIELD(&t->seq);
#elif CASE == 8
    int local = t->number;
    AO_AWAIT(self, &t->seq, &t->wait, ao_completion_await(&t->done, &t->wait));
    t->number = local;
#elif CASE == 9
    switch (t->number) {
    default:
        AO_AWAIT(self, &t->seq, &t->wait, ao_completion_await(&t->done, &t->wait));
    }
#else
    AO_YIELD(&t->seq);
#endif
#if CASE != 4
    AO_END(&t->seq);
#endif
}

/* Beside sequences a goto may pass a variable, as everywhere. */
int beside(int n);
int beside(int n)
{
    if (n == 0)
        goto end;
    int twice = 2 * n;
    n = twice;
end:
    return n;
}
