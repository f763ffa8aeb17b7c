#include <ergon/handler.h>

/* [name]: greets; without a name, the world. */
static void hello(struct ergon_task *task)
{
    struct ergon_bytes name = {.at = (const uint8_t *)"world", .len = 5};
    char text[100];

    if (!ergon_params(task, "|s", &name))
        return;
    snprintf(text, sizeof text, "hello, %.*s", name.len < 80 ? (int)name.len : 80,
             (const char *)name.at);
    ergon_result(task, "s", text);
}

static const struct ergon_handler handler = {.size = sizeof handler,
                                             .kind = ERGON_BLOCKING,
                                             .name = "hello",
                                             .summary = "greets",
                                             .params = "[name: str?]",
                                             .run = hello};

ERGON_MODULE(hello_module, "hello", "1.0")
{
    return ergon_register(module, &handler);
}
