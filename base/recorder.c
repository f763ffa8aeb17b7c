#include "base/recorder.h"

#include <stdlib.h>
#include <string.h>

struct recorder *recorder_new(void)
{
    return calloc(1, sizeof(struct recorder));
}

void recorder_free(struct recorder *r)
{
    free(r);
}

uint64_t recorder_oldest(const struct recorder *r)
{
    uint64_t written = recorder_written(r);
    return written > RECORDER_WORDS ? written - RECORDER_WORDS : 0;
}

/* The first place that can be trusted, now that words were read.
 *
 * The word at place p is overwritten by that of p + RECORDER_WORDS, which is put when `written` is
 * p + RECORDER_WORDS.  If the copy had seen that word, the acquire of its load and the release of
 * its store would order this load of `written` behind the store that made it p + RECORDER_WORDS at
 * least.  So what lies above written - RECORDER_WORDS now, strictly, was not overwritten when it
 * was copied.  (recorder_clock() replaces the newest word in place: one time or the other.) */
static uint64_t first_sound(const struct recorder *r)
{
    uint64_t written = recorder_written(r);
    return written >= RECORDER_WORDS ? written - RECORDER_WORDS + 1 : 0;
}

uint32_t recorder_copy(const struct recorder *r, uint64_t *from, uint64_t until, uint64_t *out,
                       uint32_t most)
{
    uint64_t end = recorder_written(r), begin = recorder_oldest(r);
    if (begin < *from)
        begin = *from;
    if (end > until)
        end = until;
    if (begin >= end)
        return 0;
    uint32_t count = end - begin < most ? (uint32_t)(end - begin) : most;
    for (uint32_t i = 0; i < count; i++)
        out[i] =
            atomic_load_explicit(&r->words[(begin + i) % RECORDER_WORDS], memory_order_acquire);
    uint64_t sound = first_sound(r);
    uint32_t lost = 0;
    if (sound > begin)
        lost = sound - begin < count ? (uint32_t)(sound - begin) : count;
    if (lost > 0)
        memmove(out, out + lost, (count - lost) * sizeof *out);
    *from = begin + lost;
    return count - lost;
}
