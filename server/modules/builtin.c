#include "server/modules/builtin.h"

#include <stddef.h>

const struct ergon_module_info *const *const builtin_modules[] = {&basic_module, &digest_module,
                                                                  &compress_module, NULL};
