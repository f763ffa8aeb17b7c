#include "tests/sim/handlers/services.h"

#include <stdlib.h>
#include <unistd.h>

#include <ergon/sim.h>

enum { ORDERS = 1 << 12 };
static bool charged[ORDERS];
static uint64_t last, holder; /* 0: nobody holds the lock */

static void take(unsigned ms)
{
    usleep(1000 * (1 + (unsigned)rand() % ms));
}

static void note(uint64_t order)
{
    charged[order % ORDERS] = true;
    ergon_sim_effect(NULL, "charge", order);
}

void bank_charge(uint64_t order)
{
    take(20);
    note(order);
    take(20);
}

void bank_charge_once(uint64_t order)
{
    take(20);
    if (!charged[order % ORDERS])
        note(order);
    take(20);
}

bool bank_was_charged(uint64_t order)
{
    take(5);
    return charged[order % ORDERS];
}

bool lock_take(uint64_t owner)
{
    if (holder == 0)
        holder = owner;
    return holder == owner;
}

void lock_give(void)
{
    holder = 0;
}

bool printer_prints(void)
{
    take(5);
    return rand() % 50 != 0;
}

void depot_ship(uint64_t order)
{
    take(400);
    last = order;
    ergon_sim_effect(NULL, "ship", order);
}

uint64_t depot_last(void)
{
    return last;
}
