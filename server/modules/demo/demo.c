/* The module's door, and fail. */
#include "server/modules/demo/demo.h"

static void copy_text(char *to, size_t size, struct ergon_bytes from)
{
    size_t len = from.len < size - 1 ? from.len : size - 1;

    memcpy(to, from.at, len);
    to[len] = '\0';
}

/* [code, text]: fails with them. */
static enum ao_verdict fail(struct ao *self, struct ergon_task *task, void *state)
{
    char code[33] = "FAILED", text[400] = "failed as asked";
    struct ergon_reader r;
    struct ergon_bytes given;

    (void)self;
    (void)state;
    ergon_params_open(task, &r);
    if (ergon_read_bytes(&r, &given))
        copy_text(code, sizeof code, given);
    if (ergon_read_bytes(&r, &given))
        copy_text(text, sizeof text, given);
    ergon_fail(task, code, text);
    return AO_DONE;
}

static const struct ergon_handler fail_handler = {.size = sizeof(struct ergon_handler),
                                                  .kind = ERGON_STEPPED,
                                                  .name = "fail",
                                                  .summary = "fails with the given code and text",
                                                  .params = "[code: str, text: str]",
                                                  .step = fail};

static int add(struct ergon_module *module, const struct demo_part *part)
{
    for (size_t i = 0; i < part->count; i++)
        if (ergon_register(module, &part->handlers[i]) < 0)
            return -1;
    return 0;
}

ERGON_MODULE(demo_module, "demo", ERGON_VERSION)
{
    const struct demo_part failing = {&fail_handler, 1};

    return add(module, &failing) < 0 || add(module, &demo_waiting) < 0 ||
                   add(module, &demo_lasting) < 0 || demo_actors(module) < 0
               ? -1
               : 0;
}
