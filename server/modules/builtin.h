/* The modules that are linked into the server: they come through the same door as the loaded ones.
 */
#ifndef ERGON_MODULES_BUILTIN_H
#define ERGON_MODULES_BUILTIN_H

#include <ergon/module.h>

struct builtin_module {
    const struct ergon_module_info *info;
    ergon_module_init_fn *init; /* NULL ends the list */
};

extern const struct builtin_module builtin_modules[];

#endif
