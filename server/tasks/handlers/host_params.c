/* Parameters, read in place. */
#include "proto/reader.h"
#include "base/units.h"
#include "server/tasks/handlers/host.h"
#include "server/tasks/task.h"

static struct reader reader_in(const struct ergon_reader *r)
{
    return (struct reader){.at = r->at, .end = r->end};
}

static bool reader_out(struct ergon_reader *r, const struct reader *in, bool read)
{
    r->at = in->at;
    return read;
}

static struct ergon_bytes host_params(struct ergon_task *task)
{
    struct span params = task_of(task)->params;
    return (struct ergon_bytes){.at = params.at, .len = params.len};
}

static uint32_t host_params_open(struct ergon_task *task, struct ergon_reader *r)
{
    struct reader in;
    uint32_t count;
    read_params(task_of(task)->params, &in, &count);
    *r = (struct ergon_reader){.at = in.at, .end = in.end};
    return count;
}

static bool host_read_nil(struct ergon_reader *r)
{
    struct reader in = reader_in(r);
    return reader_out(r, &in, read_nil(&in));
}

/* The function of this name in proto/reader.h, as modules see it. */
#define READ(what, type)                                                                           \
    static bool host_read_##what(struct ergon_reader *r, type *out)                                \
    {                                                                                              \
        struct reader in = reader_in(r);                                                           \
        return reader_out(r, &in, read_##what(&in, out));                                          \
    }
READ(bool, bool)
READ(int, int64_t)
READ(uint, uint64_t)
READ(number, double)
READ(array, uint32_t)
READ(map, uint32_t)
READ(duration, uint64_t)
#undef READ

static bool host_read_bytes(struct ergon_reader *r, struct ergon_bytes *out)
{
    struct reader in = reader_in(r);
    struct span text = {0};
    bool read = read_text(&in, &text);
    if (read)
        *out = (struct ergon_bytes){.at = text.at, .len = text.len};
    return reader_out(r, &in, read);
}

static bool host_read_any(struct ergon_reader *r, struct ergon_bytes *raw)
{
    struct reader in = reader_in(r);
    struct span value = {0};
    bool read = read_any(&in, &value);
    if (read)
        *raw = (struct ergon_bytes){.at = value.at, .len = value.len};
    return reader_out(r, &in, read);
}

static bool host_read_size(struct ergon_reader *r, uint64_t *bytes)
{
    struct reader in = reader_in(r);
    struct reader before = in;
    struct span text;
    bool read = read_uint(&in, bytes) || (read_text(&in, &text) && units_size(text, bytes));
    return reader_out(r, read ? &in : &before, read);
}

void host_fill_params(struct ergon_host *host)
{
    host->params = host_params;
    host->params_open = host_params_open;
    host->read_nil = host_read_nil;
    host->read_bool = host_read_bool;
    host->read_int = host_read_int;
    host->read_uint = host_read_uint;
    host->read_number = host_read_number;
    host->read_bytes = host_read_bytes;
    host->read_array = host_read_array;
    host->read_map = host_read_map;
    host->read_any = host_read_any;
    host->read_duration = host_read_duration;
    host->read_size = host_read_size;
}
