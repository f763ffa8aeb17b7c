/* Whole lives of tasks, with options, by a client that does nothing else: put, end and remove, a
 * commit each.
 *
 *     bench_cluster_bare URL BATCH SECONDS
 *
 * URL is a database with the schema ergon, and without tasks.  Each line of the input starts a
 * window of so many seconds, and is answered by the lives a second. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tests/bench/cluster/bare_client.h"

enum { BATCH_MAX = 4096 };

static double window(struct bare_client *c, uint32_t batch, double seconds)
{
    static uint64_t next_id = 1;
    uint64_t began = clock_monotonic(), until = began + (uint64_t)(seconds * 1e9), lives = 0;

    for (; clock_monotonic() < until; lives += batch, next_id += batch)
        for (int kind = BARE_PUT; kind <= BARE_REMOVE; kind++)
            bare_run(c, (enum bare_kind)kind, next_id, batch, true);
    return (double)lives * 1e9 / (double)(clock_monotonic() - began);
}

int main(int argc, char **argv)
{
    char line[16];
    uint32_t batch = argc == 4 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    double seconds = argc == 4 ? strtod(argv[3], NULL) : 0;

    if (batch < 1 || batch > BATCH_MAX || seconds <= 0) {
        fprintf(stderr, "usage: bench_cluster_bare URL BATCH SECONDS\n");
        return 2;
    }
    struct bare_client *c = bare_open(argv[1]);
    while (fgets(line, sizeof line, stdin)) {
        printf("%.1f\n", window(c, batch, seconds));
        fflush(stdout);
    }
    bare_close(c);
    return 0;
}
