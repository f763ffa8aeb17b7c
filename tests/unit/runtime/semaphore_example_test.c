/* The two example programs' objects on a virtual clock: never more than three at once, 8 s in all,
 * in order of arrival. */
#include "tests/unit/runtime/stage.h"

#include "examples/semaphore/ten.h"

struct props {
    struct ten ten;
    int working, most, last;
};

static void say(struct ten *ten, int iteration, const char *what)
{
    struct props *p = ao_of(ten, struct props, ten);
    stage_say("%d %s", iteration, what);
    if (what[0] == 'b') {
        assert_int_equal(iteration, p->last + 1);
        p->last = iteration;
        if (++p->working > p->most)
            p->most = p->working;
    } else {
        p->working--;
    }
}

static void ended(struct ten *ten)
{
    stage_say("all have ended");
}

static const char *const narrative = "[0] 1 begins\n[0] 2 begins\n[0] 3 begins\n"
                                     "[2000] 1 ends\n[2000] 2 ends\n[2000] 3 ends\n"
                                     "[2000] 4 begins\n[2000] 5 begins\n[2000] 6 begins\n"
                                     "[4000] 4 ends\n[4000] 5 ends\n[4000] 6 ends\n"
                                     "[4000] 7 begins\n[4000] 8 begins\n[4000] 9 begins\n"
                                     "[6000] 7 ends\n[6000] 8 ends\n[6000] 9 ends\n"
                                     "[6000] 10 begins\n[8000] 10 ends\n"
                                     "[8000] all have ended\n";

static void plays(enum ao_verdict (*work)(struct ao *))
{
    struct props p = {.ten = {.work = work, .say = say, .ended = ended}};
    ten_start(&p.ten, stage.home);
    virtual_run(&stage.v);
    assert_int_equal(p.most, PERMITS);
    assert_int_equal(p.last, ITERATIONS);
    assert_int_equal(stage.v.now, AO_S(8));
    assert_int_equal(p.ten.sem.permits, PERMITS);
    stage_expect(narrative);
}

STAGE_TEST(plain)
{
    plays(ten_plain);
}

STAGE_TEST(scoped)
{
    plays(ten_scoped);
}
