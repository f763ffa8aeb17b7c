/* Every input of every fuzzer goes through here. */
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <stdbool.h>

/* Of programs that link ergon_test_support; the others have LeakSanitizer alone. */
__attribute__((weak)) int64_t heap_live(void);

static int64_t live(void)
{
    return heap_live ? heap_live() : 0;
}

/* The first input may fill what is made once and stays. */
static bool is_first = true;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t before = live();

    fuzz_input(data, size);
    if (live() != before && !is_first) {
        fprintf(stderr, "blocks of memory: %" PRId64 " before the input, %" PRId64 " after it\n",
                before, live());
        abort();
    }
    is_first = false;
    return 0;
}
