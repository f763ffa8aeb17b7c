/* A handler that may be run twice and acts once: what it did stands under a name that every attempt
 * of the same work knows, and each looks there first. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <ergon/handler.h>

enum { DONE_BEFORE, DONE_NOW, NOT_DONE };

/* The account: a file a charge, there or not there. O_EXCL is what makes two of the same order one.
 */
static int charge_once(const char *order, uint32_t attempt)
{
    char path[80];
    snprintf(path, sizeof path, "charge-%s", order);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? DONE_BEFORE : NOT_DONE;
    bool good = dprintf(fd, "attempt %u\n", attempt) > 0 && fsync(fd) == 0;
    close(fd);
    return good ? DONE_NOW : NOT_DONE;
}

/* [order, pause]: charges an order, then takes its time over the receipt, unless it was charged
 * before. */
static void charge(struct ergon_task *task)
{
    struct ergon_bytes name;
    uint64_t pause; /* ns */
    char order[64];

    if (!ergon_params(task, "st", &name, &pause))
        return;
    if (name.len >= sizeof order || memchr(name.at, '/', name.len)) {
        ergon_fail(task, "BAD_PARAMS", "an order has up to 63 characters, and no /");
        return;
    }
    memcpy(order, name.at, name.len);
    order[name.len] = '\0';
    int done = charge_once(order, ergon_attempt(task));
    if (done == NOT_DONE) {
        ergon_fail(task, "ACCOUNT", "the account cannot be reached"); /* a retry may help */
        return;
    }
    if (done == DONE_BEFORE) {
        ergon_result(task, "s", "was charged");
        return;
    }
    for (uint64_t slept = 0; slept < pause && !ergon_cancelled(task); slept += AO_MS(10))
        usleep(10000);
    ergon_result(task, "s", "charged");
}

static const struct ergon_handler handler = {.size = sizeof handler,
                                             .kind = ERGON_BLOCKING,
                                             .name = "charge",
                                             .summary = "charges an order once",
                                             .params = "[order: str, pause: duration]",
                                             .run = charge};

ERGON_MODULE(charge_module, "charge", "1.0")
{
    return ergon_register(module, &handler);
}
