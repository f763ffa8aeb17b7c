#include <ergon/handler.h>

/* One pointer for all modules that are linked in: it is the same table for each. */
const struct ergon_host *ergon_host;
