/* Histograms: how exact they are, those of several threads, and the file that plotting tools read.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/bench/hgrm.h"
#include "client/bench/output.h"
#include "client/bench/random.h"
#include "tests/support/cmocka_env.h"

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Against the sorted values themselves. */
TEST(percentiles_are_exact_to_three_digits)
{
    enum { COUNT = 20000 };
    static const double percents[] = {0, 1, 50, 90, 99, 99.9, 99.99, 100};
    uint64_t *values = calloc(COUNT, sizeof *values);
    uint64_t x = 88172645463325252u;
    struct hdr_histogram h;
    assert_true(hdr_init(&h));
    for (size_t i = 0; i < COUNT; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        values[i] = x >> (24 + x % 40); /* over many orders of magnitude */
        hdr_add(&h, values[i]);
    }
    qsort(values, COUNT, sizeof *values, compare);
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        size_t rank = (size_t)(percents[i] / 100 * COUNT + 0.999999);
        uint64_t exact = values[rank > 0 ? rank - 1 : 0];
        uint64_t got = hdr_percentile(&h, percents[i]);
        assert_in_range(got, exact, exact + exact / 1000);
    }
    assert_int_equal(h.min, values[0]);
    assert_int_equal(h.max, values[COUNT - 1]);
    hdr_fini(&h);
    free(values);
}

TEST(edges_of_a_histogram)
{
    struct hdr_histogram h;
    assert_true(hdr_init(&h));
    assert_int_equal(hdr_percentile(&h, 50), 0);
    for (unsigned bit = 0; bit < 64; bit++) {
        hdr_add(&h, UINT64_C(1) << bit);
        hdr_add(&h, (UINT64_C(1) << bit) - 1);
    }
    assert_int_equal(h.count, 128);
    assert_int_equal(h.max, UINT64_C(1) << 63);
    assert_int_equal(hdr_percentile(&h, 0), 0);
    hdr_reset(&h);
    hdr_add(&h, 5);
    assert_int_equal(hdr_percentile(&h, 50), 5);
    assert_int_equal(hdr_percentile(&h, 100), 5);
    hdr_add(&h, 1000003); /* not the largest of its cell */
    assert_int_equal(hdr_percentile(&h, 100), 1000003);
    hdr_fini(&h);
}

TEST(parts_merge_into_the_whole)
{
    struct hdr_histogram whole, parts[3];
    struct bench_random random = {1};
    assert_true(hdr_init(&whole));
    for (int i = 0; i < 3; i++)
        assert_true(hdr_init(&parts[i]));
    for (int i = 0; i < 10000; i++) {
        uint64_t value = bench_random_next(&random) >> (20 + i % 40);
        hdr_add(&whole, value);
        hdr_add(&parts[i % 2], value); /* the third stays empty */
    }
    hdr_merge(&parts[2], &parts[0]);
    hdr_merge(&parts[2], &parts[1]);
    assert_int_equal(parts[2].count, whole.count);
    assert_int_equal(parts[2].sum, whole.sum);
    assert_int_equal(parts[2].min, whole.min);
    assert_int_equal(parts[2].max, whole.max);
    assert_memory_equal(parts[2].cells, whole.cells, HDR_CELLS * sizeof *whole.cells);
    for (int i = 0; i < 3; i++)
        hdr_fini(&parts[i]);
    hdr_fini(&whole);
}

TEST(values_are_counted_up_to_one)
{
    struct hdr_histogram h;
    assert_true(hdr_init(&h));
    assert_int_equal(hdr_count_to(&h, 5), 0);
    for (uint64_t value = 1; value <= 1000; value++)
        hdr_add(&h, value);
    assert_int_equal(hdr_count_to(&h, 0), 0);
    assert_int_equal(hdr_count_to(&h, 500), 500);
    assert_int_equal(hdr_count_to(&h, UINT64_MAX), 1000);
    assert_true(fabs(hdr_mean(&h) - 500.5) < 1e-9);
    assert_true(fabs(hdr_deviation(&h) - 288.675) < 0.001);
    hdr_add(&h, UINT64_MAX / 2);
    assert_int_equal(hdr_count_to(&h, UINT64_MAX / 4), 1001); /* beyond what has cells */
    hdr_fini(&h);
}

/* The caller frees *text. */
static void print_to(char **text, const struct hdr_histogram *h)
{
    size_t size;
    FILE *out = open_memstream(text, &size);
    assert_non_null(out);
    hgrm_print(out, h);
    fclose(out);
}

TEST(the_percentile_format)
{
    static const char *const wanted[] = {
        "       Value     Percentile TotalCount 1/(1-Percentile)\n\n",
        "\n    1.000000 0.000000000000          1           1.00\n",
        "\n    2.000895 0.500000000000          2           2.00\n",
        "\n    4.000000 1.000000000000          4\n#[Mean    =     2.500000, StdDeviation   =",
        "\n#[Max     =     4.000000, Total count    =            4]\n"};
    struct hdr_histogram h;
    assert_true(hdr_init(&h));
    for (uint64_t ms = 1; ms <= 4; ms++)
        hdr_add(&h, ms * 1000000);
    char *text = NULL;
    print_to(&text, &h);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strstr(text, wanted[i]) == NULL)
            fail_msg("no '%s' in:\n%s", wanted[i], text);
    free(text);
    hdr_fini(&h);
}

TEST(percentiles_rise_and_end_at_one)
{
    struct hdr_histogram h;
    struct bench_random random = {3};
    double value, last_value = 0, percentile, last_percentile = -1;
    unsigned long long count, last_count = 0;
    assert_true(hdr_init(&h));
    for (int i = 0; i < 100000; i++)
        hdr_add(&h, (uint64_t)bench_random_exponential(&random, 1e6));
    char *text = NULL;
    print_to(&text, &h);
    int lines = 0;
    for (char *line = strstr(text, "\n\n") + 2; *line != '#'; line = strchr(line, '\n') + 1) {
        assert_int_equal(sscanf(line, "%lf %lf %llu", &value, &percentile, &count), 3);
        assert_true(value >= last_value && percentile > last_percentile && count >= last_count);
        last_value = value;
        last_percentile = percentile;
        last_count = count;
        lines++;
    }
    assert_true(last_percentile == 1 && last_count == 100000);
    assert_in_range(lines, 70, 110);
    free(text);
    hdr_fini(&h);
}

TEST(an_empty_one_prints_no_line)
{
    struct hdr_histogram h;
    assert_true(hdr_init(&h));
    char *text = NULL;
    print_to(&text, &h);
    assert_non_null(strstr(text, "\n\n#[Mean"));
    free(text);
    hdr_fini(&h);
}

TEST(a_file_that_cannot_be_written)
{
    char why[128];
    struct hdr_histogram h;
    assert_true(hdr_init(&h));
    assert_false(output_check("/nowhere/file", why, sizeof why));
    assert_non_null(strstr(why, "cannot write /nowhere/file"));
    assert_false(hgrm_write("/nowhere/file", &h, why, sizeof why));
    hdr_fini(&h);
}

TEST(a_check_leaves_no_file_and_a_write_does)
{
    char folder[] = "/tmp/ergon-test-XXXXXX";
    char path[64];
    char why[128];
    struct hdr_histogram h;
    assert_true(hdr_init(&h));
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.hgrm", folder);
    assert_true(output_check(path, why, sizeof why));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_true(hgrm_write(path, &h, why, sizeof why));
    assert_true(output_check(path, why, sizeof why));
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    rmdir(folder);
    hdr_fini(&h);
}
