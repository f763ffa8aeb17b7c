#include "server/modules/builtin.h"

#include <ergon/handler.h>

/* One pointer for all modules that are linked in: it is the same table for each. */
const struct ergon_host *ergon_host;

const struct ergon_module_info *const *const builtin_modules[] = {
    &basic_module, &waiting_module, &digest_module, &compress_module, &lasting_module, NULL};
