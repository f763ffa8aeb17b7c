#include "server/store/postgres/types.h"

#include <stdlib.h>

/* Identifiers of PostgreSQL's own types, which no version changes (pg_type.dat). */
enum {
    OID_INT2 = 21,
    OID_INT8 = 20,
    OID_TEXT = 25,
    OID_BYTEA = 17,
    OID_INT2_ARRAY = 1005,
    OID_INT8_ARRAY = 1016,
    OID_TEXT_ARRAY = 1009,
    OID_BYTEA_ARRAY = 1001
};

struct type {
    const char *name;
    Oid scalar, array;
};

/* Numbers of 64 bits have their upper half as negative ones. */
static const struct type *type_of(const struct store_column *column)
{
    static const struct type number = {"bigint", OID_INT8, OID_INT8_ARRAY},
                             small = {"smallint", OID_INT2, OID_INT2_ARRAY},
                             text = {"text", OID_TEXT, OID_TEXT_ARRAY},
                             bytes = {"bytea", OID_BYTEA, OID_BYTEA_ARRAY};
    switch (column->kind) {
    case COLUMN_U64:
    case COLUMN_U32:
        return &number;
    case COLUMN_U8:
        return &small;
    case COLUMN_TEXT:
    case COLUMN_NAME:
        return &text;
    case COLUMN_BLOB:
        return &bytes;
    }
    abort();
}

const char *type_name(const struct store_column *column)
{
    return type_of(column)->name;
}

Oid type_scalar(const struct store_column *column)
{
    return type_of(column)->scalar;
}

Oid type_array(const struct store_column *column)
{
    return type_of(column)->array;
}
