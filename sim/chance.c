#include "sim/chance.h"

#include <stddef.h>
#include <string.h>

/* Seeds mean the same runs as before streams were added behind these. */
enum { FIRST_STREAMS = SIM_SERVER + 1 };

static uint64_t states[SIM_STREAMS];
static bool plain[SIM_STREAMS];

/* SplitMix64, after Steele, Lea and Flood (2014). */
static uint64_t next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

void sim_chance_seed(uint64_t seed)
{
    for (int n = 0; n < SIM_STREAMS; n++) {
        uint64_t of = seed * FIRST_STREAMS + (uint64_t)n;
        if (n >= FIRST_STREAMS)
            of = ~(seed * SIM_STREAMS + (uint64_t)n);
        states[n] = next(&of);
    }
}

void sim_chance_again(uint64_t future)
{
    for (int n = 0; n < SIM_STREAMS; n++)
        states[n] ^= next(&future);
}

void sim_chance_plain(uint64_t schedule)
{
    sim_chance_seed(schedule);
    for (int n = 0; n < SIM_STREAMS; n++)
        plain[n] = n == SIM_DEEDS || (schedule == 0 && n != SIM_SERVER);
}

void sim_chance_of_others(uint64_t seed)
{
    uint64_t kept[SIM_STREAMS];
    memcpy(kept, states, sizeof kept);
    sim_chance_seed(seed);
    for (int n = 0; n < SIM_STREAMS; n++)
        if (n == SIM_WORK || n == SIM_FAULTS || n == SIM_MEMORY || n == SIM_SHAPE)
            plain[n] = false;
        else
            states[n] = kept[n];
}

bool sim_chance_is_plain(enum sim_stream stream)
{
    return plain[stream];
}

uint64_t sim_chance(enum sim_stream stream)
{
    return next(&states[stream]);
}

uint64_t sim_below(enum sim_stream stream, uint64_t n)
{
    return plain[stream] ? n / 2 : (sim_chance(stream) >> 16) % n;
}

bool sim_one_in(enum sim_stream stream, uint64_t n)
{
    return !plain[stream] && sim_below(stream, n) == 0;
}

/* --- What the server's base/chance.h is --- */

bool __wrap_chance_bytes(void *out, size_t size);

bool __wrap_chance_bytes(void *out, size_t size)
{
    uint8_t *at = out;
    for (size_t n = 0; n < size; n++)
        at[n] = (uint8_t)sim_chance(SIM_SERVER);
    return true;
}
