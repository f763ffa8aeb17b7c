#include "server/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/server/cmocka_env.h"
#include "tests/unit/server/scratch.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const uint64_t MS = 1000000, SECOND = 1000000000;

static struct scratch scratch;

static int open_scratch(void **state)
{
    (void)state;
    scratch_open(&scratch);
    return 0;
}

static int close_scratch(void **state)
{
    (void)state;
    scratch_close(&scratch);
    return 0;
}

static struct config *accepted(const char *yaml, const char *const *env, const char *const *flags)
{
    struct config *c = scratch_load(&scratch, yaml, env, flags);

    assert_string_equal(scratch.errors, "");
    assert_non_null(c);
    return c;
}

static void refused(const char *yaml, const char *const *env, const char *const *flags,
                    const char *errors)
{
    assert_null(scratch_load(&scratch, yaml, env, flags));
    assert_string_equal(scratch.errors, errors);
}

/* ---- values ---- */

static void defaults_stand(void **state)
{
    (void)state;
    struct config *c = accepted(NULL, NULL, NULL);

    assert_int_equal(scratch.action, CONFIG_SERVE);
    assert_int_equal(c->listener_count, 1);
    assert_string_equal(c->listeners[0].url, "ergon://127.0.0.1:7466");
    assert_int_equal(c->listeners[0].way.port, 7466);
    assert_int_equal(c->listeners[0].auth, CONFIG_AUTH_NONE);
    assert_int_equal(c->loops.count, 0);
    assert_true(c->shortcut);
    assert_int_equal(c->limits.message, 16 << 20);
    assert_int_equal(c->limits.depth, 32);
    assert_int_equal(c->drain, 8 * SECOND);
    assert_int_equal(c->step_limit, 50 * MS);
    assert_int_equal(c->log.level, LOG_INFO);
    assert_null(c->tokens_file);
    config_free(c);
}

static const char everything[] = "listen:\n"
                                 "  - ergon://127.0.0.1:0\n"
                                 "  - url: ergon://[::1]:1\n"
                                 "    allow: [echo, 'sum*']\n"
                                 "    max_connections: 5\n"
                                 "    raw: yes\n"
                                 "    idle_timeout: 3s\n"
                                 "  - url: unix:///tmp/e.sock\n"
                                 "    mode: 0600\n"
                                 "loops: {count: 2, cores: '0-1,5'}\n"
                                 "executors:\n"
                                 "  stepped: {parked: 9}\n"
                                 "  list:\n"
                                 "    - {kind: stepped, queue: 7, loop: 1, weight: 3}\n"
                                 "    - {kind: blocking, core: 1, priority: -5}\n"
                                 "manager: {place: own}\n"
                                 "measure: completion\n"
                                 "idle: {mode: spin, spin: 20us}\n"
                                 "limits:\n"
                                 "  message: 64k\n"
                                 "  idle_timeout: 1h\n"
                                 "log: {level: debug, format: json}\n";

static void listeners_are_read(void **state)
{
    (void)state;
    struct config *c = accepted(everything, NULL, NULL);

    assert_int_equal(c->listener_count, 3);
    assert_int_equal(c->listeners[0].origin.line, 2);
    assert_int_equal(c->listeners[0].idle_timeout, 3600 * SECOND);
    assert_int_equal(c->listeners[1].way.kind, URL_HOST_V6);
    assert_int_equal(c->listeners[1].allow.count, 2);
    assert_string_equal(c->listeners[1].allow.at[1], "sum*");
    assert_int_equal(c->listeners[1].max_connections, 5);
    assert_true(c->listeners[1].raw);
    assert_int_equal(c->listeners[1].idle_timeout, 3 * SECOND);
    assert_int_equal(c->listeners[2].auth, CONFIG_AUTH_PEER);
    assert_int_equal(c->listeners[2].mode, 0600);
    config_free(c);
}

static void topology_is_read(void **state)
{
    (void)state;
    struct config *c = accepted(everything, NULL, NULL);

    assert_int_equal(c->loops.count, 2);
    assert_int_equal(c->loops.cores.count, 3);
    assert_int_equal(c->loops.cores.at[2], 5);
    assert_int_equal(c->executors.stepped_parked, 9);
    assert_int_equal(c->executors.count, 2);
    assert_int_equal(c->executors.list[0].queue, 7);
    assert_int_equal(c->executors.list[0].loop, 1);
    assert_int_equal(c->executors.list[0].core, CONFIG_ANY);
    assert_int_equal(c->executors.list[1].kind, CONFIG_BLOCKING);
    assert_int_equal(c->executors.list[1].core, 1);
    assert_int_equal(c->executors.list[1].priority, -5);
    assert_int_equal(c->executors.list[1].queue, 128);
    assert_int_equal(c->manager.place, CONFIG_PLACE_OWN);
    assert_int_equal(c->measure, CONFIG_MEASURE_COMPLETION);
    assert_int_equal(c->idle.mode, CONFIG_IDLE_SPIN);
    assert_int_equal(c->idle.spin, 20000);
    assert_int_equal(c->limits.message, 65536);
    assert_int_equal(c->log.format, CONFIG_LOG_JSON);
    config_free(c);
}

static void empty_files_and_groups_are_fine(void **state)
{
    (void)state;
    config_free(accepted("", NULL, NULL));
    config_free(accepted("# nothing\n", NULL, NULL));
    config_free(accepted("---\n", NULL, NULL));
    config_free(accepted("tls:\n  # cert: x\nmodules:\nlimits: ~\n", NULL, NULL));
}

/* ---- precedence ---- */

static void each_source_beats_the_one_below(void **state)
{
    const char *yaml = "drain: 1s\nstep_limit: 1ms\nidle: {spin: 1us}\n";
    const char *const *env = LIST("ERGON_STEP_LIMIT=2ms", "ERGON_IDLE_SPIN=2us", "PATH=/bin");

    (void)state;
    struct config *c = accepted(yaml, env, LIST("--idle-spin=3us"));
    assert_int_equal(c->drain, SECOND);
    assert_int_equal(c->step_limit, 2 * MS);
    assert_int_equal(c->idle.spin, 3000);
    config_free(c);
}

static void a_list_is_replaced_not_added_to(void **state)
{
    const char *yaml = "listen: [ergon://127.0.0.1:1, ergon://127.0.0.1:2]\n";

    (void)state;
    struct config *c = accepted(yaml, LIST("ERGON_LISTEN=ergon://[::1]:3 , unix:///a"), NULL);
    assert_int_equal(c->listener_count, 2);
    assert_string_equal(c->listeners[0].url, "ergon://[::1]:3");
    assert_string_equal(c->listeners[1].way.path, "/a");
    config_free(c);

    c = accepted(yaml, LIST("ERGON_LISTEN=unix:///a"),
                 LIST("--listen", "ergon://localhost:0", "--listen", "ergon://localhost:0"));
    assert_int_equal(c->listener_count, 2);
    assert_string_equal(c->listeners[1].way.host, "localhost");
    config_free(c);
}

static void a_secret_comes_from_a_file(void **state)
{
    char variable[256];

    (void)state;
    snprintf(variable, sizeof variable, "ERGON_TLS_KEY_PASSWORD_FILE=%s",
             scratch_write(&scratch, "secret", "open sesame\n"));
    struct config *c = accepted(NULL, LIST(variable), NULL);
    assert_string_equal(c->tls.key_password, "open sesame");
    config_free(c);
    refused(NULL, LIST(variable, "ERGON_TLS_KEY_PASSWORD=x"), NULL,
            "ERGON_TLS_KEY_PASSWORD: set together with ERGON_TLS_KEY_PASSWORD_FILE; set one of "
            "them\n");
    refused(NULL, LIST("ERGON_TLS_KEY_PASSWORD_FILE=/nowhere"), NULL,
            "ERGON_TLS_KEY_PASSWORD_FILE: /nowhere: cannot be read: No such file or directory\n");
    refused(NULL, NULL, LIST("--tls-key-password=x"),
            "--tls-key-password=x: no such flag (see --help)\n");
}

static void the_file_may_be_named_by_a_variable(void **state)
{
    char variable[256];

    (void)state;
    snprintf(variable, sizeof variable, "ERGON_CONFIG=%s",
             scratch_write(&scratch, "other.yaml", "drain: 3s\n"));
    struct config *c = accepted(NULL, LIST(variable), NULL);
    assert_int_equal(c->drain, 3 * SECOND);
    config_free(c);
    refused(NULL, NULL, LIST("-c", "/nowhere"),
            "/nowhere: cannot be read: No such file or directory\n");
}

static void actions_are_told(void **state)
{
    static const struct {
        const char *flag;
        enum config_action action;
    } rows[] = {{"--check-config", CONFIG_CHECK}, {"--print-config", CONFIG_PRINT},
                {"--help", CONFIG_HELP},          {"-h", CONFIG_HELP},
                {"--version", CONFIG_VERSION},    {"-V", CONFIG_VERSION}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        config_free(accepted(NULL, NULL, LIST(rows[i].flag)));
        assert_int_equal(scratch.action, rows[i].action);
    }
    config_free(accepted("nonsense: 1\n", NULL, LIST("--help")));
}

/* ---- problems ---- */

static void file_problems_have_lines(void **state)
{
    (void)state;
    refused("listen:\n"
            "  - url: ergon://127.0.0.1\n"
            "    idle_timeout: 30\n"
            "    tls: {cetr: x}\n"
            "drian: 8s\n"
            "limits: {message: 16, depth: 1, in_flight: many, connections: -1, a.b: 1}\n"
            "measure: fastest\n"
            "shortcut: maybe\n"
            "loops: {cores: 3-1}\n",
            NULL, NULL,
            "ergond.yaml:3: listen[0].idle_timeout: \"30\" has no unit (write \"30s\" or "
            "\"500ms\")\n"
            "ergond.yaml:4: listen[0].tls.cetr: unknown key (did you mean \"cert\"?)\n"
            "ergond.yaml:5: drian: unknown key (did you mean \"drain\"?)\n"
            "ergond.yaml:6: limits.message: \"16\" has no unit (write \"16k\" or \"16m\")\n"
            "ergond.yaml:6: limits.depth: \"1\" is out of range (2 to 1024)\n"
            "ergond.yaml:6: limits.in_flight: \"many\" is not a whole number\n"
            "ergond.yaml:6: limits.connections: \"-1\" is out of range (1 to 16777216, or "
            "\"auto\")\n"
            "ergond.yaml:6: limits.a.b: unknown key\n"
            "ergond.yaml:7: measure: \"fastest\" is not one of occupancy, length, priority, "
            "weight, completion\n"
            "ergond.yaml:8: shortcut: \"maybe\" is neither true nor false\n"
            "ergond.yaml:9: loops.cores: \"3-1\" is not a list of cores (write \"0-2,5\")\n");
}

static void a_wrong_shape_is_told(void **state)
{
    (void)state;
    refused("drain: [1s]\n"
            "limits: 3\n"
            "listen: {url: ergon://127.0.0.1}\n"
            "modules: [{a: b}]\n"
            "measure:\n"
            "drain: 2s\n"
            "executors:\n"
            "  list: [blocking]\n"
            "? [a]\n"
            ": b\n",
            NULL, NULL,
            "ergond.yaml:1: drain: is a list (write a single value)\n"
            "ergond.yaml:2: limits: is a group of keys (write them below it, indented)\n"
            "ergond.yaml:3: listen: is a map (write a list: - ...)\n"
            "ergond.yaml:4: modules[0]: an element of this list is a single value\n"
            "ergond.yaml:5: measure: has no value (write one, or leave the key out)\n"
            "ergond.yaml:6: \"drain\" stands here a second time (first in line 1)\n"
            "ergond.yaml:8: executors.list[0]: \"blocking\" is not a map (write - kind: "
            "stepped)\n"
            "ergond.yaml:9: a key is a single word\n");
    refused("- a\n", NULL, NULL, "ergond.yaml:1: the file is not a map (write key: value)\n");
    refused("a\n---\nb\n", NULL, NULL,
            "ergond.yaml:1: the file is not a map (write key: value)\n"
            "ergond.yaml:3: a second document begins here; one file holds one\n");
}

static void what_is_not_yaml_is_told_with_its_line(void **state)
{
    (void)state;
    assert_null(scratch_load(&scratch, "drain: 1s\nlimits: {message: 1m\nlog: x\n", NULL, NULL));
    assert_non_null(strstr(scratch.errors, "ergond.yaml:3: this is not YAML: "));
    assert_null(scratch_load(&scratch, "a: \"\xff\"\n", NULL, NULL));
    assert_non_null(strstr(scratch.errors, "this is not YAML: "));
    refused("drain: \"1s\\0\"\n", NULL, NULL,
            "ergond.yaml:1: drain: a value cannot contain a NUL byte\n");
}

/* An alias to a node that holds it would be endless for a walk that follows the tree. */
static void a_tree_that_bites_its_tail_ends(void **state)
{
    (void)state;
    assert_null(scratch_load(&scratch, "&a\nlimits: *a\n", NULL, NULL));
    assert_non_null(strstr(scratch.errors, "limits.limits: unknown key"));
}

static void other_sources_name_themselves(void **state)
{
    (void)state;
    refused(NULL, LIST("ERGON_DRAIN=8", "ERGON_MODULE="), LIST("--log-level", "loud", "--drain="),
            "ERGON_DRAIN: \"8\" has no unit (write \"8s\" or \"500ms\")\n"
            "--log-level: \"loud\" is not one of debug, info, warn, error\n"
            "--drain: \"\" is not a duration (write \"30s\", \"500ms\" or \"50us\")\n");
    refused(NULL, NULL, LIST("--frobnicate", "x", "--listen"),
            "--frobnicate: no such flag (see --help)\n"
            "--listen: needs a value (--listen=VALUE)\n"
            "x: a word that belongs to no flag (see --help)\n");
}

/* ---- values that do not go together ---- */

static void an_open_listener_needs_tls_or_tokens(void **state)
{
    char tokens[128];

    (void)state;
    refused(NULL, NULL, LIST("--listen=ergon://0.0.0.0"),
            "--listen: listen[0]: ergon://0.0.0.0 can be reached from other machines without TLS "
            "and without tokens (use ergons://, or tokens_file and auth: token, or listen on "
            "127.0.0.1, or accept it with insecure: true or --insecure)\n");
    config_free(accepted(NULL, NULL, LIST("--listen=ergon://0.0.0.0", "--insecure")));
    config_free(accepted("listen: [{url: 'ergon://[::]', insecure: true}]\n", NULL, NULL));
    snprintf(tokens, sizeof tokens, "--tokens=%s", scratch_write(&scratch, "tokens", ""));
    struct config *c = accepted(NULL, NULL, LIST("--listen=ergon://0.0.0.0", tokens));
    assert_int_equal(c->listeners[0].auth, CONFIG_AUTH_TOKEN);
    config_free(c);
    assert_null(scratch_load(&scratch, "listen: [{url: 'ergon://[::]', auth: none}]\n", NULL,
                             LIST(tokens)));
}

static void a_listener_takes_over_the_common_certificate(void **state)
{
    char flag[128];

    (void)state;
    snprintf(flag, sizeof flag, "--tls-cert=%s", scratch_write(&scratch, "cert", ""));
    struct config *c = accepted("listen:\n"
                                "  - ergons://[::]:0\n"
                                "  - {url: 'ergons://[::]:0', auth: cert}\n"
                                "  - {url: 'ergons://[::]:0', tls: {client_cert: required}}\n"
                                "tls: {key: /dev/null, client_ca: /dev/null}\n",
                                NULL, LIST(flag));
    assert_string_equal(c->listeners[0].cert, c->tls.cert);
    assert_string_equal(c->listeners[0].key, "/dev/null");
    assert_int_equal(c->listeners[0].client_cert, CONFIG_CERT_NONE);
    assert_int_equal(c->listeners[1].client_cert, CONFIG_CERT_REQUIRED);
    assert_int_equal(c->listeners[2].auth, CONFIG_AUTH_CERT);
    config_free(c);
}

static void what_does_not_go_together_is_told(void **state)
{
    (void)state;
    refused("listen:\n"
            "  - {url: 'ergons://[::]:0', auth: cert}\n"
            "  - {url: 'ergon://127.0.0.1:9', auth: token, mode: 0600, tls: {cert: /dev/null}}\n"
            "  - {url: 'ergon://127.0.0.1:9', auth: peer}\n"
            "  - {auth: none}\n"
            "tls:\n"
            "  key: /nowhere\n"
            "limits: {message: 1g}\n"
            "loops: {count: 2}\n"
            "executors: {list: [{loop: 2}, {kind: blocking, loop: 0}]}\n",
            NULL, NULL,
            "ergond.yaml:2: listen[0].tls.cert: is missing: ergons:// needs a certificate (here, "
            "or tls.cert)\n"
            "ergond.yaml:2: listen[0].tls.client_ca: is missing: client certificates are checked "
            "against it (here, or tls.client_ca)\n"
            "ergond.yaml:3: listen[1].tls.cert: has no meaning without TLS (write ergons:// in the "
            "URL)\n"
            "ergond.yaml:3: listen[1].auth: is token, but there is no tokens_file (make a token "
            "with: ergon token)\n"
            "ergond.yaml:3: listen[1].mode: is for unix:// listeners only\n"
            "ergond.yaml:4: listen[2].auth: is peer, which only a unix:// listener can know\n"
            "ergond.yaml:4: listen[2].url: listens where listen[1] does already\n"
            "ergond.yaml:5: listen[3].url: is missing (write url: ergon://127.0.0.1:7466)\n"
            "ergond.yaml:10: executors.list[0].loop: there are 2 loops, counted from 0\n"
            "ergond.yaml:10: executors.list[1].loop: a blocking executor has a thread of its own "
            "and no loop\n"
            "limits.partial: is smaller than limits.message, so no message of that size could "
            "ever arrive (make it larger)\n"
            "ergond.yaml:7: tls.key: /nowhere: cannot be read: No such file or directory\n");
    refused("listen: []\n", NULL, NULL, "ergond.yaml:1: listen: names no place to listen at\n");
}

/* ---- print and compare ---- */

static void print_to(const struct config *c, char *buf, size_t size)
{
    FILE *out = fmemopen(buf, size, "w");

    assert_true(config_print(c, out));
    fclose(out);
}

static void remember_path(void *arg, const char *path, bool live)
{
    char *all = arg;
    size_t used = strlen(all);

    snprintf(all + used, 512 - used, "%s%s ", path, live ? "(live)" : "");
}

static void what_is_printed_is_read_again(void **state)
{
    static char text[16384];
    char differences[512] = "";

    (void)state;
    struct config *c = accepted(everything, NULL, LIST("--module=/dev/null", "--insecure"));
    print_to(c, text, sizeof text);
    struct config *again = accepted(text, NULL, NULL);
    config_compare(c, again, remember_path, differences);
    assert_string_equal(differences, "");
    config_free(again);
    config_free(c);
}

static void a_print_shows_origins_and_hides_secrets(void **state)
{
    static char text[16384];

    (void)state;
    struct config *c =
        accepted("drain: 1s\n", LIST("ERGON_TLS_KEY_PASSWORD=sesame"), LIST("--limits-message=1m"));
    print_to(c, text, sizeof text);
    assert_null(strstr(text, "sesame"));
    assert_non_null(strstr(text, "# key_password: \"***\" "));
    assert_non_null(strstr(text, " # ERGON_TLS_KEY_PASSWORD\n"));
    assert_non_null(strstr(text, "  message: 1m "));
    assert_non_null(strstr(text, " # --limits-message\n"));
    assert_non_null(strstr(text, "ergond.yaml:1\n"));
    assert_non_null(strstr(text, "step_limit: 50ms                             # default\n"));
    config_free(c);
}

static void a_comparison_names_what_changed(void **state)
{
    char differences[512] = "";

    (void)state;
    struct config *was = accepted("listen: [unix:///a]\nlog: {level: info}\n", NULL, NULL);
    struct config *is = accepted("listen: [{url: unix:///a, raw: true}]\ndrain: 1s\n"
                                 "log: {level: warn}\nmodules: [/dev/null]\n",
                                 NULL, NULL);
    config_compare(was, is, remember_path, differences);
    assert_string_equal(differences, "listen[0].raw modules drain log.level(live) ");
    config_free(was);
    config_free(is);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scratch, close_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(defaults_stand),
        TEST(listeners_are_read),
        TEST(topology_is_read),
        TEST(empty_files_and_groups_are_fine),
        TEST(each_source_beats_the_one_below),
        TEST(a_list_is_replaced_not_added_to),
        TEST(a_secret_comes_from_a_file),
        TEST(the_file_may_be_named_by_a_variable),
        TEST(actions_are_told),
        TEST(file_problems_have_lines),
        TEST(a_wrong_shape_is_told),
        TEST(what_is_not_yaml_is_told_with_its_line),
        TEST(a_tree_that_bites_its_tail_ends),
        TEST(other_sources_name_themselves),
        TEST(an_open_listener_needs_tls_or_tokens),
        TEST(a_listener_takes_over_the_common_certificate),
        TEST(what_does_not_go_together_is_told),
        TEST(what_is_printed_is_read_again),
        TEST(a_print_shows_origins_and_hides_secrets),
        TEST(a_comparison_names_what_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
