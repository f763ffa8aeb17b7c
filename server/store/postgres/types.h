/* Which type of PostgreSQL a column of a map (rows.h) has.  Pure; any thread. */
#ifndef ERGON_STORE_POSTGRES_TYPES_H
#define ERGON_STORE_POSTGRES_TYPES_H

#include <postgres_ext.h>

#include "server/store/store.h"

const char *type_name(const struct store_column *column);
/* Its identifier, and that of an array of it. */
Oid type_scalar(const struct store_column *column);
Oid type_array(const struct store_column *column);

#endif
