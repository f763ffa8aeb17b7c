/* cmocka with the headers that it wants before it. */
#ifndef ERGON_TESTS_SUPPORT_CMOCKA_ENV_H
#define ERGON_TESTS_SUPPORT_CMOCKA_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
