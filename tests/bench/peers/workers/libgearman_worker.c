/* A worker of Gearman on its own library that gives back what it was given.
 *
 *     libgearman_worker PORT FUNCTION */
#include <libgearman/gearman.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gearman_return_t on_job(gearman_job_st *job, void *context)
{
    (void)context;
    return gearman_job_send_complete(job, gearman_job_workload(job),
                                     gearman_job_workload_size(job));
}

int main(int argc, char **argv)
{
    gearman_worker_st *w = gearman_worker_create(NULL);
    gearman_return_t end;

    if (argc != 3)
        return fprintf(stderr, "usage: libgearman_worker PORT FUNCTION\n"), 2;
    if (!w || gearman_failed(gearman_worker_add_server(w, "127.0.0.1", (in_port_t)atoi(argv[1]))) ||
        gearman_failed(gearman_worker_define_function(w, argv[2], strlen(argv[2]),
                                                      gearman_function_create(on_job), 0, NULL)))
        return fprintf(stderr, "libgearman_worker: %s\n", w ? gearman_worker_error(w) : "memory"),
               1;
    puts("ready");
    fflush(stdout);
    do
        end = gearman_worker_work(w);
    while (gearman_success(end));
    fprintf(stderr, "libgearman_worker: %s\n", gearman_worker_error(w));
    gearman_worker_free(w);
    return 1;
}
