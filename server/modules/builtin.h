/* The modules that are linked into the server. They are registered as loaded ones are, by their
 * init. Constants: any thread. */
#ifndef ERGON_MODULES_BUILTIN_H
#define ERGON_MODULES_BUILTIN_H

#include <ergon/module.h>

/* ERGON_MODULE defines each in its file. */
extern const struct ergon_module_info *const basic_module;
extern const struct ergon_module_info *const digest_module;
extern const struct ergon_module_info *const compress_module;

extern const struct ergon_module_info *const *const builtin_modules[]; /* NULL ends the list */

#endif
