/* Services of others that the handlers of handlers.c use; services.c stands in for them. */
#ifndef SERVICES_H
#define SERVICES_H

#include <stdbool.h>
#include <stdint.h>

void bank_charge(uint64_t order);
void bank_charge_once(uint64_t order); /* unless it was charged before */
bool bank_was_charged(uint64_t order);

bool lock_take(uint64_t owner); /* false: another has it */
void lock_give(void);
bool printer_prints(void); /* false: it does not, as it happens now and then */

void depot_ship(uint64_t order); /* takes up to 400 ms */
uint64_t depot_last(void);       /* the order that was shipped last */

#endif
