/* tally/KEY: a sum.  ergond --module ./tally.so, and: ergon actor call tally/votes add 2 */
#include <ergon/actor.h>

static void add(struct ergon_task *task)
{
    struct ergon_reader r;
    int64_t n, sum = 0;
    if (!ergon_params(task, "i", &n))
        return;
    if (ergon_state_open(task, &r))
        ergon_read_int(&r, &sum);
    ergon_state_int(task, sum + n);
    ergon_result(task, "i", sum + n);
}

static const struct ergon_handler methods[] = {
    {.size = sizeof *methods, .kind = ERGON_BLOCKING, .name = "tally.add", .run = add}};
static const struct ergon_actor tally = {
    .size = sizeof tally, .type = "tally", .methods = methods, .count = 1};

ERGON_MODULE(tally_module, "tally", "1.0")
{
    return ergon_register_actor(module, &tally);
}
