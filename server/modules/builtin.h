/* The modules that are linked into the server: they come through the same door as the loaded ones.
 */
#ifndef ERGON_MODULES_BUILTIN_H
#define ERGON_MODULES_BUILTIN_H

#include <ergon/module.h>

extern const struct ergon_module_info *const builtin_modules[]; /* NULL ends the list */

#endif
