/* fail; the others of the module are in waiting_test.c and lasting_test.c. */
#include "proto/encoder.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/unit/modules/builtin_world.h"

static uint8_t params[64];

BUILTIN_TEST(fail_without_memory)
{
    uint8_t *p = enc_str(enc_array(params, 1), span_text("NO_SPACE"));
    for (int n = 1; n < 20; n++) {
        heap_fail_at(n);
        assert_int_equal(builtin_call("fail", span_of(params, (size_t)(p - params))), -1);
        bool met = heap_failed();
        heap_fail_at(0);
        if (!met)
            builtin_expect_failure("NO_SPACE", "failed as asked");
    }
}
