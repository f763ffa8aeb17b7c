#include "base/longest.h"

static const uint64_t slot_ns = UINT64_C(10) * 1000 * 1000 * 1000;

/* A slot is one word, so that its number and its time are of one write: 24 bits number it (five
 * years of slots), 40 hold its time (18 minutes; what took longer took so long). */
enum { TIME_BITS = 40 };
static const uint64_t most = (UINT64_C(1) << TIME_BITS) - 1;

static uint64_t number_of(uint64_t now)
{
    return (now / slot_ns + 1) & (UINT64_MAX >> TIME_BITS); /* 0: never written */
}

void longest_note(struct longest *l, uint64_t now, uint64_t took)
{
    if (!longest_wants(l, now, took))
        return;
    uint64_t number = number_of(now);
    if (now >= l->until) {
        l->until = (now / slot_ns + 1) * slot_ns;
        l->known = 0;
    }
    if (took > l->known)
        l->known = took;
    if (took > counter_read(&l->ever))
        counter_set(&l->ever, took);
    counter_set(&l->slots[(now / slot_ns) % LONGEST_SLOTS],
                number << TIME_BITS | (l->known < most ? l->known : most));
}

uint64_t longest_ever(const struct longest *l)
{
    return counter_read(&l->ever);
}

uint64_t longest_lately(const struct longest *l, uint64_t now)
{
    uint64_t longest = 0;
    for (unsigned i = 0; i < LONGEST_SLOTS; i++) {
        uint64_t slot = counter_read(&l->slots[i]);
        uint64_t age = (number_of(now) - (slot >> TIME_BITS)) & (UINT64_MAX >> TIME_BITS);
        if (slot && age < LONGEST_SLOTS && (slot & most) > longest)
            longest = slot & most;
    }
    return longest;
}
