/* The pointer to the host's functions, which the built-in modules share. */
#include <ergon/handler.h>

/* One pointer for all modules that are linked in: it is the same table for each. */
const struct ergon_host *ergon_host;
