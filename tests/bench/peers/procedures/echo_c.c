/* Tarantool's stored procedure in C: gives back its argument.  run.sh builds it, against
 * Tarantool's header. */
#include <tarantool/module.h>

int echo_c(box_function_ctx_t *ctx, const char *args, const char *args_end);

/* args is an array of one: its only element follows the one byte of its header. */
__attribute__((visibility("default"))) int echo_c(box_function_ctx_t *ctx, const char *args,
                                                  const char *args_end)
{
    return box_return_mp(ctx, args + 1, args_end);
}
