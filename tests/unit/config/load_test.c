#include "server/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/scratch.h"

static const uint64_t MS = 1000000, SECOND = 1000000000;

/* ---- values ---- */

SCRATCH_TEST(defaults_stand)
{
    struct config *c = scratch_accepted(NULL, NULL, NULL);

    assert_int_equal(scratch.action, CONFIG_SERVE);
    assert_int_equal(c->listener_count, 1);
    assert_string_equal(c->listeners[0].url, "ergon://127.0.0.1:7466");
    assert_int_equal(c->listeners[0].way.port, 7466);
    assert_int_equal(c->listeners[0].auth, LISTENER_AUTH_NONE);
    assert_int_equal(c->loops.count, 0);
    assert_true(c->shortcut);
    assert_int_equal(c->limits.message, 16 << 20);
    assert_int_equal(c->net.scan.depth_max, 32);
    assert_int_equal(c->drain, 8 * SECOND);
    assert_int_equal(c->step_limit, 50 * MS);
    assert_int_equal(c->log.level, LOG_INFO);
    assert_null(c->tokens_file);
}

static const char everything[] =
    "listen:\n"
    "  - ergon://127.0.0.1:0\n"
    "  - url: ergon://[::1]:1\n"
    "    allow: [echo, 'sum*']\n"
    "    max_connections: 5\n"
    "    raw: yes\n"
    "    idle_timeout: 3s\n"
    "  - url: unix:///tmp/e.sock\n"
    "    mode: 0600\n"
    "loops: {count: 2, cores: '0-0,0,0'}\n"
    "executors:\n"
    "  stepped: {parked: 9}\n"
    "  list:\n"
    "    - {kind: stepped, queue: 7, loop: 1, weight: 3}\n"
    "    - {kind: blocking, core: 0, priority: -5}\n"
    "manager: {place: own}\n"
    "store: /tmp/ergon.db\n"
    "tasks: {max: 7, kept_bytes: 0, keep_failed: 30d, ageing: off, crashes: off, losses: off}\n"
    "tenants: [{name: ada, weight: 4}, {name: bob}]\n"
    "measure: completion\n"
    "idle: {mode: spin, spin: 20us}\n"
    "limits:\n"
    "  message: 64k\n"
    "  idle_timeout: 1h\n"
    "log: {level: debug, format: json}\n";

SCRATCH_TEST(listeners_are_read)
{
    struct config *c = scratch_accepted(everything, NULL, NULL);

    assert_int_equal(c->listener_count, 3);
    assert_int_equal(c->listeners[0].origin.line, 2);
    assert_int_equal(c->listeners[0].idle_timeout, 3600 * SECOND);
    assert_int_equal(c->listeners[1].way.kind, URL_HOST_V6);
    assert_int_equal(c->listeners[1].allow.count, 2);
    assert_string_equal(c->listeners[1].allow.at[1], "sum*");
    assert_int_equal(c->listeners[1].max_connections, 5);
    assert_true(c->listeners[1].raw);
    assert_int_equal(c->listeners[1].idle_timeout, 3 * SECOND);
    assert_int_equal(c->listeners[2].auth, LISTENER_AUTH_PEER);
    assert_int_equal(c->listeners[2].mode, 0600);
}

SCRATCH_TEST(topology_is_read)
{
    struct config *c = scratch_accepted(everything, NULL, NULL);

    assert_int_equal(c->loops.count, 2);
    assert_int_equal(c->loops.cores.count, 3);
    assert_int_equal(c->loops.cores.at[2], 0);
    assert_int_equal(c->executors.stepped_parked, 9);
    assert_int_equal(c->executors.count, 2);
    assert_int_equal(c->executors.list[0].queue, 7);
    assert_int_equal(c->executors.list[0].loop, 1);
    assert_int_equal(c->executors.list[0].core, CONFIG_ANY);
    assert_int_equal(c->executors.list[1].kind, CONFIG_BLOCKING);
    assert_int_equal(c->executors.list[1].core, 0);
    assert_int_equal(c->executors.list[1].priority, -5);
    assert_int_equal(c->executors.list[1].queue, 128);
    assert_int_equal(c->manager.place, CONFIG_PLACE_OWN);
    assert_int_equal(c->placement, PLACEMENT_COMPLETION);
    assert_int_equal(c->idle.mode, IDLE_SPIN);
    assert_int_equal(c->idle.spin, 20000);
    assert_int_equal(c->limits.message, 65536);
    assert_int_equal(c->log.format, CONFIG_LOG_JSON);
}

SCRATCH_TEST(what_tasks_that_last_need_is_read)
{
    struct config *c = scratch_accepted(everything, NULL, NULL);

    assert_string_equal(c->store, "/tmp/ergon.db");
    assert_int_equal(c->tasks.limits.max, 7);
    assert_int_equal(c->tasks.limits.bytes, 0);
    assert_int_equal(c->tasks.limits.kept_bytes, 0);
    assert_int_equal(c->tasks.limits.keep_failed, 30 * UINT64_C(86400000000000));
    assert_int_equal(c->tasks.ageing, 0);
    assert_int_equal(c->tasks.crashes, 0);
    assert_int_equal(c->tasks.losses, 0);
    assert_int_equal(c->tasks.history, 100);
    assert_int_equal(c->tenant_count, 2);
    assert_string_equal(c->tenants[0].name, "ada");
    assert_int_equal(c->tenants[0].weight, 4);
    assert_string_equal(c->tenants[1].name, "bob");
    assert_int_equal(c->tenants[1].weight, 1);
}

SCRATCH_TEST(empty_files_and_groups_are_fine)
{
    scratch_accepted("", NULL, NULL);
    scratch_accepted("# nothing\n", NULL, NULL);
    scratch_accepted("---\n", NULL, NULL);
    scratch_accepted("tls:\n  # cert: x\nmodules:\nlimits: ~\n", NULL, NULL);
}

/* ---- precedence ---- */

SCRATCH_TEST(each_source_beats_the_one_below)
{
    const char *yaml = "drain: 1s\nstep_limit: 1ms\nidle: {spin: 1us}\n";
    const char *const *env = LIST("ERGON_STEP_LIMIT=2ms", "ERGON_IDLE_SPIN=2us", "PATH=/bin");

    struct config *c = scratch_accepted(yaml, env, LIST("--idle-spin=3us"));
    assert_int_equal(c->drain, SECOND);
    assert_int_equal(c->step_limit, 2 * MS);
    assert_int_equal(c->idle.spin, 3000);
}

SCRATCH_TEST(a_list_is_replaced_not_added_to)
{
    const char *yaml = "listen: [ergon://127.0.0.1:1, ergon://127.0.0.1:2]\n";

    struct config *c =
        scratch_accepted(yaml, LIST("ERGON_LISTEN=ergon://[::1]:3 , unix:///a"), NULL);
    assert_int_equal(c->listener_count, 2);
    assert_string_equal(c->listeners[0].url, "ergon://[::1]:3");
    assert_string_equal(c->listeners[1].way.path, "/a");

    c = scratch_accepted(
        yaml, LIST("ERGON_LISTEN=unix:///a"),
        LIST("--listen", "ergon://localhost:0", "--listen", "ergon://localhost:0"));
    assert_int_equal(c->listener_count, 2);
    assert_string_equal(c->listeners[1].way.host, "localhost");
}

SCRATCH_TEST(a_secret_comes_from_a_file)
{
    char variable[256];

    snprintf(variable, sizeof variable, "ERGON_TLS_KEY_PASSWORD_FILE=%s",
             scratch_write("secret", "open sesame\n"));
    struct config *c = scratch_accepted(NULL, LIST(variable), NULL);
    assert_string_equal(c->tls.key_password, "open sesame");
    scratch_refused(
        NULL, LIST(variable, "ERGON_TLS_KEY_PASSWORD=x"), NULL,
        "ERGON_TLS_KEY_PASSWORD: set together with ERGON_TLS_KEY_PASSWORD_FILE; set one of "
        "them\n");
    scratch_refused(
        NULL, LIST("ERGON_TLS_KEY_PASSWORD_FILE=/nowhere"), NULL,
        "ERGON_TLS_KEY_PASSWORD_FILE: /nowhere: cannot be read: No such file or directory\n");
    scratch_refused(NULL, NULL, LIST("--tls-key-password=x"),
                    "--tls-key-password=x: no such flag (see --help)\n");
}

SCRATCH_TEST(the_file_may_be_named_by_a_variable)
{
    char variable[256];

    snprintf(variable, sizeof variable, "ERGON_CONFIG=%s",
             scratch_write("other.yaml", "drain: 3s\n"));
    struct config *c = scratch_accepted(NULL, LIST(variable), NULL);
    assert_int_equal(c->drain, 3 * SECOND);
    scratch_refused(NULL, NULL, LIST("-c", "/nowhere"),
                    "/nowhere: cannot be read: No such file or directory\n");
}

SCRATCH_TEST(actions_are_told)
{
    static const struct {
        const char *flag;
        enum config_action action;
    } rows[] = {{"--check-config", CONFIG_CHECK}, {"--print-config", CONFIG_PRINT},
                {"--help", CONFIG_HELP},          {"-h", CONFIG_HELP},
                {"--version", CONFIG_VERSION},    {"-V", CONFIG_VERSION}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scratch_accepted(NULL, NULL, LIST(rows[i].flag));
        assert_int_equal(scratch.action, rows[i].action);
    }
    scratch_accepted("nonsense: 1\n", NULL, LIST("--help"));
}

SCRATCH_TEST(what_is_done_with_a_store_needs_no_configuration)
{
    static const struct {
        const char *flag;
        enum config_action action;
    } rows[] = {{"--check-store", CONFIG_CHECK_STORE},
                {"--export-store", CONFIG_EXPORT_STORE},
                {"--import-store", CONFIG_IMPORT_STORE}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct config *c =
            scratch_accepted("nonsense: 1\n", NULL, LIST(rows[i].flag, "/somewhere/tasks.db"));
        assert_int_equal(scratch.action, rows[i].action);
        assert_string_equal(c->store, "/somewhere/tasks.db");
    }
    struct config *c =
        scratch_accepted(NULL, NULL, LIST("--backup-to", "/copy", "--backup-store", "/tasks.db"));
    assert_int_equal(scratch.action, CONFIG_BACKUP_STORE);
    assert_string_equal(c->store, "/tasks.db");
    assert_string_equal(c->copy, "/copy");
    scratch_refused(NULL, NULL, LIST("--backup-store", "/tasks.db"),
                    "--backup-store: needs --backup-to COPY\n");
    scratch_refused(NULL, NULL, LIST("--check-store"),
                    "--check-store: needs a value (--check-store=VALUE)\n");
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

SCRATCH_TEST(what_is_printed_is_read_again)
{
    static char text[16384];
    char differences[512] = "";

    struct config *c = scratch_accepted(everything, NULL, LIST("--module=/dev/null", "--insecure"));
    print_to(c, text, sizeof text);
    struct config *again = scratch_accepted(text, NULL, NULL);
    config_compare(c, again, remember_path, differences);
    assert_string_equal(differences, "");
}

/* From a variable come characters that YAML does not read as they are. */
SCRATCH_TEST(what_is_printed_is_read_again_whatever_its_characters)
{
    static const char odd[] =
        "ERGON_STORE=/tmp/\x01\x1b\"\\\xc3\xbc\xc2\x85\xe2\x80\xa8\xe2\x80\xae"
        "\xef\xbb\xbf\xef\xbf\xbf\xf0\x9f\x98\x80\xf0\x9f\xbf\xbf x";
    char text[16384];
    struct config *c = scratch_accepted(NULL, LIST(odd, "ERGON_SANDBOX_ALLOW=\xe2\x80\xa9"), NULL);

    print_to(c, text, sizeof text);
    struct config *again = scratch_accepted(text, NULL, NULL);
    assert_string_equal(again->store, strchr(odd, '=') + 1);
    assert_string_equal(again->sandbox_allow.at[0], "\xe2\x80\xa9");
}

SCRATCH_TEST(what_is_not_utf8_is_refused)
{
    scratch_refused(NULL, LIST("ERGON_STORE=/tmp/\xff", "ERGON_SANDBOX_ALLOW=a,\xc3"), NULL,
                    "ERGON_STORE: the value is not UTF-8\n"
                    "ERGON_SANDBOX_ALLOW: the value is not UTF-8\n");
}

SCRATCH_TEST(a_blank_within_an_element_of_a_variable_stays)
{
    struct config *c =
        scratch_accepted(NULL, LIST("ERGON_LISTEN= unix:///tmp/a b ,unix:///c\t"), NULL);

    assert_int_equal(c->listener_count, 2);
    assert_string_equal(c->listeners[0].url, "unix:///tmp/a b");
    assert_string_equal(c->listeners[1].url, "unix:///c");
}

SCRATCH_TEST(a_print_shows_origins_and_hides_secrets)
{
    static char text[16384];

    struct config *c = scratch_accepted("drain: 1s\n", LIST("ERGON_TLS_KEY_PASSWORD=sesame"),
                                        LIST("--limits-message=1m"));
    print_to(c, text, sizeof text);
    assert_null(strstr(text, "sesame"));
    assert_non_null(strstr(text, "# key_password: *** "));
    assert_non_null(strstr(text, " # ERGON_TLS_KEY_PASSWORD\n"));
    assert_non_null(strstr(text, "  message: 1m "));
    assert_non_null(strstr(text, " # --limits-message\n"));
    assert_non_null(strstr(text, "ergond.yaml:1\n"));
    assert_non_null(strstr(text, "step_limit: 50ms                             # default\n"));
}

SCRATCH_TEST(a_comparison_names_what_changed)
{
    char differences[512] = "";

    struct config *was = scratch_accepted("listen: [unix:///a]\nlog: {level: info}\n", NULL, NULL);
    struct config *is = scratch_accepted("listen: [{url: unix:///a, raw: true}]\ndrain: 1s\n"
                                         "log: {level: warn}\nmodules: [/dev/null]\n",
                                         NULL, NULL);
    config_compare(was, is, remember_path, differences);
    assert_string_equal(differences, "listen[0].raw modules drain(live) log.level(live) ");
}
