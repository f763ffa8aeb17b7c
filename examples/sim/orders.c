/* Charges an order.  The bank is asked once more when the task is run once more. */
#include <ergon/handler.h>

#include <bank.h>

/* [order] */
static void charge(struct ergon_task *task)
{
    uint64_t order;

    if (ergon_params(task, "u", &order))
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
