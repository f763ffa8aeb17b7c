/* Stands in for the bank: it answers after a while, and says to the simulation what it did. */
#include <stdbool.h>
#include <time.h>

#include <ergon/sim.h>

#include <bank.h>

enum { KEYS = 1 << 16 };
static bool known[KEYS]; /* the bank outlives the server that asks it */

static void take_a_while(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

void bank_charge(uint64_t order)
{
    take_a_while();
    ergon_sim_effect(NULL, "charge", order);
    take_a_while();
}

void bank_charge_once(uint64_t order, uint64_t key)
{
    take_a_while();
    if (!known[key % KEYS])
        ergon_sim_effect(NULL, "charge", order);
    known[key % KEYS] = true;
    take_a_while();
}
