/* Modules for the loader's test: one source, built once for each WITH_. */
#include <ergon/handler.h>

#ifndef WITH_REFUSAL
static void run(struct ergon_task *task)
{
    ergon_result_int(task, 42);
}

static const struct ergon_handler handler = {.size = sizeof handler,
                                             .kind = ERGON_BLOCKING,
#ifdef WITH_BAD_HANDLER
                                             .name = "server.answer",
#else
                                             .name = "answer",
#endif
                                             .run = run};
#endif

const struct ergon_host *ergon_host;

static int init(struct ergon_module *module, const struct ergon_host *host)
{
    ergon_host = host;
#ifdef WITH_REFUSAL
    host->log(0, "refuser", "not today");
    return module ? -1 : 0;
#else
    return ergon_register(module, &handler);
#endif
}

static const struct ergon_module_info info = {.size = sizeof info,
#ifdef WITH_NEXT_MAJOR
                                              .abi_major = ERGON_ABI_MAJOR + 1,
#else
                                              .abi_major = ERGON_ABI_MAJOR,
#endif
                                              .name = "answers",
                                              .version = "1.0",
                                              .init = init};

#ifdef WITHOUT_DOOR
const struct ergon_module_info *ergon_no_module(void);
__attribute__((visibility("default"))) const struct ergon_module_info *ergon_no_module(void)
#else
__attribute__((visibility("default"))) const struct ergon_module_info *ergon_module(void)
#endif
{
    return &info;
}
