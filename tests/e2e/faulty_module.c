/* A module whose handlers believe their parameters, which `ergon module check` has to find. */
#include <ergon/handler.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* [dividend: int, divisor: int]: nobody divides by zero. */
static void ratio(struct ergon_task *task)
{
    int64_t a = 0, b = 0;

    if (!ergon_params(task, "ii", &a, &b))
        return;
    if (b == 0) {
        fprintf(stderr, "the divisor is zero\n");
        abort();
    }
    ergon_result(task, "i", a > 0 ? a / b : 0);
}

/* [text: str]: nobody has one of more than 300 bytes. */
static enum ao_verdict head(struct ao *self, struct ergon_task *task, void *state)
{
    static char *volatile nowhere;
    struct ergon_bytes text = {0};

    (void)self;
    (void)state;
    if (!ergon_params(task, "s", &text))
        return AO_DONE;
    if (text.len > 300)
        *nowhere = 'x';
    ergon_result(task, "i", 1);
    return AO_DONE;
}

/* [text: str]: nobody has an empty one, for which it would wait, whatever happens to its caller. */
static void nap(struct ergon_task *task)
{
    struct ergon_bytes text = {0};

    if (ergon_params(task, "s", &text) && text.len == 0)
        sleep(600);
}

static void *crash_later(void *arg)
{
    (void)arg;
    usleep(20 * 1000);
    abort();
}

/* Anything: it returns, and what it has begun crashes. */
static void later(struct ergon_task *task)
{
    pthread_t thread;

    (void)task;
    if (pthread_create(&thread, NULL, crash_later, NULL) == 0)
        pthread_detach(thread);
}

/* Anything: it parks until it is cancelled, as a good one does. */
static enum ao_verdict patient(struct ao *self, struct ergon_task *task, void *state)
{
    (void)task;
    (void)state;
    ao_sleep_until(self, AO_NEVER);
    return AO_PARK;
}

/* [number: int]: a good one. */
static void good(struct ergon_task *task)
{
    int64_t number = 0;

    if (ergon_params(task, "i", &number))
        ergon_result(task, "i", number);
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof handlers[0], .kind = ERGON_BLOCKING, .name = "faulty.ratio", .run = ratio},
    {.size = sizeof handlers[0], .kind = ERGON_STEPPED, .name = "faulty.head", .step = head},
    {.size = sizeof handlers[0], .kind = ERGON_BLOCKING, .name = "faulty.nap", .run = nap},
    {.size = sizeof handlers[0], .kind = ERGON_BLOCKING, .name = "faulty.later", .run = later},
    {.size = sizeof handlers[0], .kind = ERGON_STEPPED, .name = "faulty.patient", .step = patient},
    {.size = sizeof handlers[0], .kind = ERGON_BLOCKING, .name = "faulty.good", .run = good},
};

/* By FAULTY the beginning of the module itself is at fault. */
ERGON_MODULE(faulty_module, "faulty", "1.0")
{
    const char *how = getenv("FAULTY");

    if (how && *how == 'c')
        abort();
    if (how && *how == 'n')
        return 0;
    if (how && *how == 'r') {
        ergon_log(3, "faulty", "there is no licence");
        return -1;
    }
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (ergon_register(module, &handlers[i]) != 0)
            return -1;
    return 0;
}
