#include "tests/bench/sched/load.h"

#include <math.h>
#include <stdlib.h>

static const double long_part = 0.005, long_times = 100, sigma = 1;

/* splitmix64 */
uint64_t draw(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double draw_unit(uint64_t *seed)
{
    return ((double)(draw(seed) >> 11) + 1) / 9007199254740992.0; /* 2^53 */
}

static double draw_exponential(uint64_t *seed)
{
    return -log(draw_unit(seed));
}

static double draw_normal(uint64_t *seed)
{
    double radius = sqrt(-2 * log(draw_unit(seed)));
    return radius * cos(2 * M_PI * draw_unit(seed));
}

static double short_service(void)
{
    return 1 / (1 - long_part + long_part * long_times);
}

static double draw_service(enum law law, uint64_t *seed)
{
    switch (law) {
    case LAW_EXPONENTIAL:
        return draw_exponential(seed);
    case LAW_LOGNORMAL:
        return exp(sigma * draw_normal(seed) - sigma * sigma / 2);
    case LAW_BIMODAL:
        return short_service() * (draw_unit(seed) <= long_part ? long_times : 1);
    case LAW_FIXED:
    case LAWS:
        break;
    }
    return 1;
}

double law_second_moment(enum law law)
{
    double brief = short_service();
    switch (law) {
    case LAW_EXPONENTIAL:
        return 2;
    case LAW_LOGNORMAL:
        return exp(sigma * sigma);
    case LAW_BIMODAL:
        return brief * brief * (1 - long_part + long_part * long_times * long_times);
    case LAW_FIXED:
    case LAWS:
        break;
    }
    return 1;
}

const char *law_name(enum law law)
{
    static const char *const names[] = {"fixed", "exponential", "log-normal", "bimodal"};
    return names[law];
}

int load_init(struct load *l, enum law law, double rate, uint32_t count, uint64_t seed)
{
    uint64_t arrivals = draw(&seed), services = draw(&seed);
    double now = 0;
    *l = (struct load){.count = count,
                       .arrivals = calloc(count, sizeof *l->arrivals),
                       .services = calloc(count, sizeof *l->services)};
    if (!l->arrivals || !l->services) {
        load_fini(l);
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (rate > 0)
            now += draw_exponential(&arrivals) / rate;
        l->arrivals[i] = now;
        l->services[i] = draw_service(law, &services);
    }
    return 0;
}

void load_fini(struct load *l)
{
    free(l->arrivals);
    free(l->services);
    *l = (struct load){0};
}

static void swap(double *a, double *b)
{
    double kept = *a;
    *a = *b;
    *b = kept;
}

/* What lies below the middle value of a stretch comes before it: returns where that ends. */
static int64_t part_at(double *values, int64_t low, int64_t high)
{
    double pivot = values[low + (high - low) / 2];
    while (low <= high) {
        while (values[low] < pivot)
            low++;
        while (values[high] > pivot)
            high--;
        if (low <= high)
            swap(&values[low++], &values[high--]);
    }
    return low;
}

/* Quickselect: only the part that holds the wanted place is put in order. */
double quantile(double *values, uint32_t count, double part)
{
    int64_t low = 0, high = (int64_t)count - 1;
    int64_t place = (int64_t)ceil(part * (double)count - 1e-9) - 1;
    place = place < 0 ? 0 : place;
    while (low < high) {
        int64_t middle = part_at(values, low, high);
        if (place < middle)
            high = middle - 1;
        else
            low = middle;
    }
    return values[place];
}
