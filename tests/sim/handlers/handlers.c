/* Handlers with a classic fault each, and the same without it: tests/sim/handlers_test.py. */
#include <unistd.h>

#include <ergon/handler.h>

#include "tests/sim/handlers/services.h"

static uint64_t order_of(struct ergon_task *task)
{
    struct ergon_reader r;
    uint64_t order = 0;
    ergon_params_open(task, &r);
    if (!ergon_read_uint(&r, &order))
        ergon_fail(task, "BAD_PARAMS", "takes an order");
    return order;
}

/* --- The effect comes before the check --- */

static void charge_then_check(struct ergon_task *task)
{
    uint64_t order = order_of(task);
    bank_charge(order);
    if (bank_was_charged(order))
        ergon_result_str(task, "was charged", 11);
}

static void check_then_charge(struct ergon_task *task)
{
    uint64_t order = order_of(task);
    if (!bank_was_charged(order))
        bank_charge_once(order);
}

/* --- The effect has no key --- */

static void charge(struct ergon_task *task)
{
    bank_charge(order_of(task));
}

static void charge_once(struct ergon_task *task)
{
    bank_charge_once(order_of(task));
}

/* --- A lock is kept when the task is tried again, which does not own it then --- */

static void print(struct ergon_task *task, uint64_t owner, bool gives_back)
{
    if (!lock_take(owner)) {
        ergon_again(task, 200000000);
        return;
    }
    bool good = printer_prints();
    if (good || gives_back)
        lock_give();
    if (!good)
        ergon_fail(task, "JAM", "the printer does not print");
}

static void print_and_keep(struct ergon_task *task)
{
    print(task, order_of(task) << 8 | ergon_attempt(task), false);
}

static void print_and_give(struct ergon_task *task)
{
    print(task, order_of(task), true);
}

/* --- The timeout is shorter than what it calls; the order is taken for granted --- */

static void ship(struct ergon_task *task)
{
    depot_ship(order_of(task));
}

/* In order, and once: whoever is too early comes again. */
static void ship_in_order(struct ergon_task *task)
{
    uint64_t order = order_of(task);
    if (depot_last() + 1 < order)
        ergon_again(task, 100000000);
    else if (depot_last() < order)
        depot_ship(order);
}

#define HANDLER(ident, method)                                                                     \
    {                                                                                              \
        .size = sizeof(struct ergon_handler), .kind = ERGON_BLOCKING, .name = method,              \
        .summary = "", .params = "[order]", .run = ident                                           \
    }
static const struct ergon_handler handlers[] = {
    HANDLER(charge_then_check, "bad.check"),
    HANDLER(check_then_charge, "good.check"),
    HANDLER(charge, "bad.key"),
    HANDLER(charge_once, "good.key"),
    HANDLER(print_and_keep, "bad.lock"),
    HANDLER(print_and_give, "good.lock"),
    HANDLER(ship, "bad.timeout"),
    HANDLER(ship, "good.timeout"),
    HANDLER(ship, "bad.order"),
    HANDLER(ship_in_order, "good.order"),
};

ERGON_MODULE(handlers_module, "handlers", "1.0")
{
    for (size_t n = 0; n < sizeof handlers / sizeof *handlers; n++)
        if (ergon_register(module, &handlers[n]) < 0)
            return -1;
    return 0;
}
