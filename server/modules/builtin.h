/* The modules that are linked into the server: they come through the same door as the loaded ones.
 */
#ifndef ERGON_MODULES_BUILTIN_H
#define ERGON_MODULES_BUILTIN_H

#include <ergon/module.h>

/* Each where its file defines it (ERGON_MODULE). */
extern const struct ergon_module_info *const basic_module;
extern const struct ergon_module_info *const waiting_module;
extern const struct ergon_module_info *const digest_module;
extern const struct ergon_module_info *const compress_module;
extern const struct ergon_module_info *const lasting_module;

extern const struct ergon_module_info *const *const builtin_modules[]; /* NULL ends the list */

#endif
