/* Of a simulated server that has a fault: it reads times back from its store a second late.  The
 * linker puts this in the place of the server's function. */
#include "server/jobs/core/table.h"

ao_time __real_table_time_of(struct job_table *table, uint64_t unix_ns);
ao_time __wrap_table_time_of(struct job_table *table, uint64_t unix_ns);

ao_time __wrap_table_time_of(struct job_table *table, uint64_t unix_ns)
{
    return __real_table_time_of(table, unix_ns + 1000000000);
}
