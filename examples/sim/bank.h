/* The client library of a bank. */
#ifndef BANK_H
#define BANK_H

#include <stdint.h>

void bank_charge(uint64_t order);
/* Charges, unless it was asked with this key before. */
void bank_charge_once(uint64_t order, uint64_t key);

#endif
