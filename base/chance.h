/* The one source of chance: everything that the server decides by chance, and every secret that it
 * makes, begins with bytes from here.  lint/system allows no other, so that a program that links
 * another chance_bytes() decides what chance is. */
#ifndef ERGON_BASE_CHANCE_H
#define ERGON_BASE_CHANCE_H

#include <stdbool.h>
#include <stddef.h>

/* Fills `out` with bytes that nobody can guess.  Any thread.  False when the system gives none (a
 * kernel before 3.17): then `out` is not to be used.  A system call. */
bool chance_bytes(void *out, size_t size);

#endif
