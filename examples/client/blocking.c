/* One call after the other, the result of each printed: the blocking face of libergon.
 *
 *   cc blocking.c $(pkg-config --cflags --libs ergon msgpack) -o blocking
 *   ./blocking ergon://127.0.0.1:7466 */
#include <ergon/client.h>

#include <msgpack.h>
#include <stdio.h>
#include <string.h>

/* Calls echo with one string.  Nothing here can fail but the call: packing is in memory. */
static enum ergon_end echo(struct ergon_blocking *server, const char *text)
{
    const struct ergon_answer *answer;
    msgpack_sbuffer params;
    msgpack_packer packer;

    msgpack_sbuffer_init(&params);
    msgpack_packer_init(&packer, &params, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, 1);
    msgpack_pack_str_with_body(&packer, text, strlen(text));
    struct ergon_raw bytes = {params.data, params.size};
    enum ergon_end outcome = ergon_blocking_call(server, "echo", bytes, 5000, &answer);
    msgpack_sbuffer_destroy(&params);

    msgpack_unpacked result;
    msgpack_unpacked_init(&result);
    if (outcome != ERGON_END_OK) {
        fprintf(stderr, "echo: %s %s\n", answer->code, answer->text);
    } else if (msgpack_unpack_next(&result, answer->result.at, answer->result.len, NULL) ==
               MSGPACK_UNPACK_SUCCESS) {
        msgpack_object_print(stdout, result.data);
        putchar('\n');
    }
    msgpack_unpacked_destroy(&result);
    return outcome;
}

int main(int argc, char **argv)
{
    struct ergon_options options = {
        .size = sizeof options,
        .url = argc > 1 ? argv[1] : "ergon://127.0.0.1:7466",
    };
    struct ergon_blocking *server;
    char why[256];

    if (ergon_blocking_open(&options, &server, why, sizeof why) != ERGON_END_OK) {
        fprintf(stderr, "%s: %s\n", options.url, why);
        return 1;
    }
    enum ergon_end outcome = echo(server, "one");
    if (outcome == ERGON_END_OK)
        outcome = echo(server, "two");
    ergon_blocking_close(server);
    return outcome == ERGON_END_OK ? 0 : 1;
}
