/* ergond: reads its configuration, loads the modules, builds the topology, opens the listeners, and
 * serves. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/audit.h"
#include "base/log_writer.h"
#include "server/admin/admin.h"
#include "server/administer.h"
#include "server/config/module_path.h"
#include "server/config/module_spec.h"
#include "server/jobs/core/states.h"
#include "server/jobs/persist/actor_rows.h"
#include "server/jobs/persist/codec.h"
#include "server/lifecycle.h"
#include "server/membership.h"
#include "server/module_main.h"
#include "server/modules/builtin.h"
#include "server/plan.h"
#include "server/setup.h"
#include "server/store/offline/offline.h"
#include "server/system/crash.h"
#include "server/system/sandbox.h"
#include "server/system/security_warnings.h"
#include "server/system/systemd.h"
#include "server/system/watchdog.h"
#include "server/tasks/handlers/held_memory.h"
#include "server/topology.h"

enum {
    EXIT_USAGE = 2,
    LOG_PATIENCE = 1000000000 /* ns; how long the end waits for the log to be written */
};

static int load_modules(struct registry *registry, const struct config *config, char *error,
                        size_t size)
{
    struct module_spec spec;
    char path[PATH_MAX];

    for (size_t i = 0; builtin_modules[i]; i++)
        if (module_add(registry, *builtin_modules[i], error, size) < 0)
            return -1;
    for (size_t i = 0; i < config->modules.count; i++) {
        if (!module_spec_read(config->modules.at[i], &spec, error, size))
            return -1;
        if (spec.is_process)
            continue; /* server/processes/ */
        module_path_find(spec.path, path);
        if (module_load(registry, path, error, size) < 0)
            return -1;
    }
    return 0;
}

/* Prints a line for each listener: the URL with the port in use.  Scripts read it, and people with
 * port 0 in their configuration. */
static void print_listeners(struct acceptor *a)
{
    for (uint32_t i = 0; i < acceptor_count(a); i++) {
        if (!*acceptor_url(a, i))
            continue;
        log_info("listening", LOG_STR("url", acceptor_url(a, i)));
        printf("%s\n", acceptor_url(a, i));
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        log_warn("standard output cannot be written; this log names the listeners");
}

/* Connects the admin listener, if there is one, with the server that has been built. */
static int attach_admin(struct admin *admin, struct topology *t, const struct admin_options *o,
                        char *error, size_t size)
{
    return admin ? admin_attach(admin, t->acceptor, &t->shared, o, error, size) : 0;
}

static struct topology *build(const struct config *config, struct registry *registry,
                              struct admin *admin, const struct admin_options *options)
{
    char error[512];

    if (config->dev)
        held_memory_begin();
    if (load_modules(registry, config, error, sizeof error) < 0)
        goto failed;
    struct topology *t = topology_build(config, registry, error, sizeof error);
    if (!t)
        goto failed;
    if (topology_listen(t, config, error, sizeof error) == 0 &&
        attach_admin(admin, t, options, error, sizeof error) == 0 &&
        (!config->sandbox || sandbox_enter(&config->sandbox_allow, error, sizeof error) == 0))
        return t;
    topology_free(t);
failed:
    log_error("cannot start", LOG_STR("why", error));
    return NULL;
}

static bool journald_is_there(void)
{
    return journald_reads(getenv("JOURNAL_STREAM"), STDERR_FILENO);
}

static struct log_form form_of_log(const struct config *config)
{
    return (struct log_form){.json = config->log.format == CONFIG_LOG_JSON,
                             .levels = config->log.levels == CONFIG_LEVELS_AUTO
                                           ? journald_is_there()
                                           : config->log.levels == CONFIG_LEVELS_ON};
}

/* Its thread inherits the signal mask.  NULL: there is no memory, and the log is written to stderr
 * directly. */
static struct log_writer *open_log(const struct config *config)
{
    const struct log_writer_options options = {.fd = STDERR_FILENO,
                                               .form = form_of_log(config),
                                               .threshold = config->log.level,
                                               .bytes = config->log.buffer,
                                               .repeats = config->log.repeats};
    struct log_writer *writer = log_writer_new(&options);
    if (!writer)
        return NULL;
    const struct log_sink sink = log_writer_sink(writer);
    log_set_sink(&sink);
    return writer;
}

/* Marks in the audit log where one server ends and the next begins. */
static void record_start(const struct config *c)
{
    char user[32], modules[400] = "";
    size_t len = 0;

    if (!audit_is_apart())
        return;
    snprintf(user, sizeof user, "uid:%u", getuid());
    for (size_t i = 0; i < c->modules.count && len < sizeof modules; i++)
        len += (size_t)snprintf(modules + len, sizeof modules - len, "%s%s", i > 0 ? " " : "",
                                c->modules.at[i]);
    const struct log_field fields[] = {LOG_STR("principal", user),
                                       LOG_STR("method", "start"),
                                       LOG_STR("outcome", "ok"),
                                       LOG_UINT("pid", (uint64_t)getpid()),
                                       LOG_STR("version", ERGON_VERSION),
                                       LOG_STR("modules", modules),
                                       {0}};
    audit_note(LOG_INFO, "server started", fields);
}

/* Opens the admin listener before everything else, so that it can answer that the server is
 * starting. False: it cannot be opened, and the log says why.  *admin is NULL if none is
 * configured. */
static bool open_admin(const struct config *c, struct admin_options *o, const struct health *health,
                       struct admin **admin)
{
    char error[512] = "out of memory";

    *o = (struct admin_options){.listeners = plan_admin(c),
                                .count = (uint32_t)c->admin.count,
                                .hosts = (const char *const *)c->admin.hosts.at,
                                .host_count = c->admin.hosts.count,
                                .scan = plan_scan(c),
                                .call_time = (ao_time)c->admin.call_timeout,
                                .request_time = (ao_time)c->admin.request_timeout,
                                .health = health};
    if (o->count == 0)
        return true;
    *admin = o->listeners ? admin_open(o, error, sizeof error) : NULL;
    if (!*admin)
        log_error("cannot start", LOG_STR("why", error));
    return *admin != NULL;
}

/* The server runs without these files if they cannot be opened. */
static void open_recorder_files(const struct config *c, const struct topology *t,
                                const struct registry *registry)
{
    char folder[PATH_MAX], text[96];
    const struct recorder_files_options o = {
        .folder = folder, .kept = c->recorder.files, .rings = &t->rings, .registry = registry};

    if (plan_recorder_folder(c, folder) && recorder_files_open(&o) < 0)
        log_warn("the flight recorder will leave no files", LOG_STR("directory", folder),
                 LOG_STR("why", strerror_r(errno, text, sizeof text)));
}

/* The C library collects freed pieces of up to 128 bytes, and joins all of them with their
 * neighbours when a larger piece is allocated or freed.  After 100,000 tasks that took 10 ms in one
 * step.  This setting joins each piece with its neighbours when it is freed. */
static void free_piece_by_piece(void)
{
    mallopt(M_MXFAST, 0);
}

/* Takes ownership of the configuration. */
static int run(struct config *config, const struct config_input *input)
{
    struct registry *registry = registry_new();
    enum lifecycle_exit status = LIFECYCLE_FAILED;
    bool blocked = lifecycle_block_signals() == 0;
    struct health health = {0};
    struct admin_options options = {0};
    struct admin *admin = NULL;
    const struct log_sink plain = log_stderr_sink(form_of_log(config), config->log.level);

    free_piece_by_piece();
    log_set_sink(&plain);
    struct log_writer *log = open_log(config);
    char error[512];

    if (config->audit.file &&
        !audit_open(config->audit.file, config->audit.buffer, error, sizeof error)) {
        log_error("cannot start", LOG_STR("why", error));
        goto done;
    }
    if (!registry || !log || !blocked || probe_install() < 0) {
        log_error("cannot start", LOG_STR("why", "out of memory"));
        goto done;
    }
    if (!open_admin(config, &options, &health, &admin))
        goto done;
    struct topology *t = build(config, registry, admin, &options);
    if (!t) {
        admin_close(admin);
        goto done;
    }
    open_recorder_files(config, t, registry);
    if (crash_install() < 0)
        log_warn("a crash will not be logged", LOG_INT("errno", errno));
    crl_warn(config);
    unguarded_warn(config);
    database_warn(config);
    file_rights_warn(config); /* the store's file exists by now */
    setup_begin(&t->shared.setup, config);
    setup_note(&t->shared.setup, config);
    membership_note_settings(t->membership, config);
    record_start(config);
    print_listeners(t->acceptor);
    crash_expect_no_exit(true);
    const struct lifecycle_watch watch = {&health, admin};
    status = lifecycle_run(t, &config, input, &watch);
    crash_expect_no_exit(false);
done:
    plan_admin_free((struct listener_options *)(uintptr_t)options.listeners, options.count);
    audit_close(LOG_PATIENCE);
    config_free(config);
    registry_free(registry);
    log_set_sink(&plain); /* for modules that log while the process exits */
    if (log)
        log_writer_stop(log, LOG_PATIENCE);
    return (int)status;
}

/* Checks a valid configuration for what only this program can find. */
static bool check_here(const struct config *config)
{
    char error[300];
    bool good = crl_report(config) == 0;

    if (sandbox_check(&config->sandbox_allow, error, sizeof error) == 0)
        return good;
    fprintf(stderr, "ergond: %s\n", error);
    return false;
}

/* Reports what is wrong with the configuration, a line each; to journald, as errors. */
static struct config *load(const struct config_input *input, enum config_action *action)
{
    struct config_input kept = *input;
    char *text = NULL;
    size_t size;

    kept.errors = journald_is_there() ? open_memstream(&text, &size) : NULL;
    if (!kept.errors)
        return config_load(input, action);
    struct config *config = config_load(&kept, action);
    int saved = errno;
    fclose(kept.errors);
    journald_write(stderr, LOG_ERROR, text);
    free(text);
    errno = saved;
    return config;
}

static struct store_offline offline_of(const char *path)
{
    return (struct store_offline){.path = path,
                                  .states = job_state_names,
                                  .state_count = JOB_STATE_COUNT,
                                  .task_fault = row_check_task,
                                  .event_fault = row_check_event,
                                  .rate_fault = row_check_rate,
                                  .cron_fault = row_check_cron,
                                  .semaphore_fault = row_check_semaphore,
                                  .hold_fault = row_check_hold,
                                  .actor_fault = row_check_actor,
                                  .actor_type_fault = row_check_actor_type,
                                  .batch_fault = row_check_batch};
}

static int administer_run(const struct config *config)
{
    const struct store_offline store = offline_of(config->store);
    return administer(config, &store);
}

/* Works on a store's file instead of serving: checks, exports, imports or backs it up (to `copy`,
 * which the other actions ignore).  Returns the exit status of the process: 0 if all is good; 1 if
 * the store is damaged or a line was refused; 2 if nothing could be done. */
static int offline_run(enum config_action action, const char *path, const char *copy)
{
    const struct store_offline store = offline_of(path);
    if (action == CONFIG_CHECK_STORE)
        return (int)store_check(&store, stdout, stderr);
    if (action == CONFIG_EXPORT_STORE)
        return (int)store_export(&store, stdout, stderr);
    if (action == CONFIG_BACKUP_STORE)
        return (int)store_backup(&store, copy, stdout, stderr);
    return (int)store_import(&store, stdin, stderr);
}

int main(int argc, char **argv)
{
    const struct config_input input = {
        .argc = argc, .argv = argv, .envp = environ, .errors = stderr};
    enum config_action action;

    if (module_main_wanted())
        return module_main(argc, argv);
    struct config *config = load(&input, &action);
    int status = EXIT_SUCCESS;

    if (!config)
        return errno == ENOMEM ? EXIT_FAILURE : EXIT_USAGE;
    switch (action) {
    case CONFIG_SERVE:
        return run(config, &input);
    case CONFIG_CHECK:
        unguarded_report(config);
        status = check_here(config) ? EXIT_SUCCESS : EXIT_USAGE;
        break;
    case CONFIG_PRINT:
        status = config_print(config, stdout) && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
        break;
    case CONFIG_CHECK_STORE:
    case CONFIG_EXPORT_STORE:
    case CONFIG_IMPORT_STORE:
    case CONFIG_BACKUP_STORE:
        status = offline_run(action, config->store, config->copy);
        break;
    case CONFIG_ADMINISTER:
        status = administer_run(config);
        break;
    case CONFIG_HELP:
        config_help(stdout);
        break;
    case CONFIG_VERSION:
        printf("ergond %s\n", ERGON_VERSION);
        break;
    }
    config_free(config);
    return status;
}
