/* Charges an order.  The bank is asked once more when the task is run once more. */
#include <ergon/handler.h>

#include <bank.h>

/* [order] */
static void charge(struct ergon_task *task)
{
    struct ergon_reader r;
    uint64_t order;

    if (ergon_params_open(task, &r) != 1 || !ergon_read_uint(&r, &order)) {
        ergon_fail(task, "BAD_PARAMS", "charge takes an order");
        return;
    }
    bank_charge(order);
}

static const struct ergon_handler handler = {.size = sizeof handler,
                                             .kind = ERGON_BLOCKING,
                                             .name = "orders.charge",
                                             .summary = "charges an order",
                                             .params = "[order: int]",
                                             .run = charge};

ERGON_MODULE(orders_module, "orders", "1.0")
{
    return ergon_register(module, &handler);
}
