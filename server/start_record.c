#include "server/start_record.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "server/plan.h"

/* Behind one another, with spaces between; what does not fit is left out whole. */
static void list_urls(const struct acceptor *a, char *text, size_t size)
{
    size_t len = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < acceptor_count(a); i++) {
        int n = snprintf(text + len, size - len, "%s%s", i > 0 ? " " : "", acceptor_url(a, i));
        if ((size_t)n >= size - len) {
            text[len] = '\0';
            return;
        }
        len += (size_t)n;
    }
}

static uint64_t open_files(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

void start_record_log(const struct config *c, const struct topology *t)
{
    struct jobs_info jobs;
    char urls[1024];

    jobs_info(t->jobs, &jobs);
    list_urls(t->acceptor, urls, sizeof urls);
    log_info("server is up", LOG_STR("version", ERGON_VERSION), LOG_INT("pid", getpid()),
             LOG_UINT("loops", t->loop_count), LOG_STR("idle", t->shared.idle),
             LOG_STR("listeners", urls), LOG_STR("config", c->file),
             LOG_STR("store", c->store ? c->store : "none"), LOG_UINT("open_files", open_files()),
             LOG_UINT("connections", t->shared.limits.connections),
             LOG_UINT("memory", plan_accounts(c).bytes_in_all), LOG_UINT("tasks", jobs.tasks_max),
             LOG_UINT("tasks_bytes", jobs.bytes_max));
}
