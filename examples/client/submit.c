/* A task that outlives its connection: submitted, then followed to its end.  Stop this program at
 * any time and start it again: the key makes it find the same task.  The server needs the module
 * demo, which brings `sleep`: ergond --module demo.
 *
 *   cc submit.c $(pkg-config --cflags --libs ergon) -o submit
 *   ./submit ergon://127.0.0.1:7466 */
#include <ergon/client_tasks.h>

#include <stdio.h>

static bool on_event(void *arg, const struct ergon_event *event)
{
    (void)arg;
    printf("%llu %s %s\n", (unsigned long long)event->seq, event->name, event->text);
    return true;
}

/* ["500ms"] in MessagePack */
static const unsigned char HALF_A_SECOND[] = {0x91, 0xa5, '5', '0', '0', 'm', 's'};

static enum ergon_end submit(struct ergon_blocking *server, struct ergon_submitted *submitted)
{
    struct ergon_raw params = {HALF_A_SECOND, sizeof HALF_A_SECOND};
    struct ergon_request *request =
        ergon_request_submit("sleep", params, ERGON_TASK(.key = "a nap", .retries = 3));
    const struct ergon_answer *answer;

    enum ergon_end end = ergon_blocking_ask(server, request, 5000, &answer);
    if (end != ERGON_END_OK)
        fprintf(stderr, "task.submit: %s %s\n", answer->code, answer->text);
    else if (!ergon_read_submitted(answer->result, submitted))
        end = ERGON_END_ERROR;
    return end;
}

int main(int argc, char **argv)
{
    struct ergon_options options = {
        .size = sizeof options,
        .url = argc > 1 ? argv[1] : "ergon://127.0.0.1:7466",
    };
    struct ergon_submitted submitted;
    const struct ergon_answer *answer;
    struct ergon_blocking *server;
    char why[256];

    if (ergon_blocking_open(&options, &server, why, sizeof why) != ERGON_END_OK) {
        fprintf(stderr, "%s: %s\n", options.url, why);
        return 1;
    }
    enum ergon_end end = submit(server, &submitted);
    if (end == ERGON_END_OK) {
        printf("%s%s\n", submitted.id, submitted.duplicate ? " is there already" : "");
        end = ergon_blocking_watch(server, submitted.id, 1, 0, on_event, NULL, &answer);
    }
    ergon_blocking_close(server);
    return end == ERGON_END_OK ? 0 : 1;
}
