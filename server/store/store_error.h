/* Texts of the store's errors, for those that open and read it.  Any thread. */
#ifndef ERGON_STORE_ERROR_H
#define ERGON_STORE_ERROR_H

#include <stddef.h>

/* Writes "store NAME: text" into `error`.  Returns -1. */
int store_fail(char *error, size_t size, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Writes "store NAME: it is damaged: text", with advice on what to do.  Returns -1. */
int store_damaged(char *error, size_t size, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
