/* Spans on their way: ids, samples, and bounds. */
#include "server/tracing/tracer.h"

#include "tests/support/cmocka_env.h"

#define SAMPLED                                                                                    \
    {                                                                                              \
        .trace = "0123456789abcdef", .span = "SPANSPAN", .flags = TRACE_SAMPLED                    \
    }

static const struct trace_context sampled = SAMPLED;

static const struct otlp_span small = {
    .context = SAMPLED, .name = {(const uint8_t *)"m", 1}, .kind = OTLP_SERVER};

static struct tracer_figures figures(const struct tracer *t)
{
    struct tracer_figures f;
    tracer_figures(t, &f);
    return f;
}

static uint64_t take_all(struct tracer *t, bool exported)
{
    uint64_t count = 0;
    for (struct tracer_span *span = tracer_take(t), *next; span; span = next, count++) {
        next = tracer_next(span);
        tracer_done(t, span, exported);
    }
    return count;
}

TEST(a_sampled_trace_is_wanted_where_somebody_is_told)
{
    struct tracer *t = tracer_new(0);
    struct trace_context none = {.flags = TRACE_SAMPLED}, quiet = sampled;
    quiet.flags = 0;
    assert_true(tracer_wants(t, &sampled));
    assert_false(tracer_wants(t, &none));
    assert_false(tracer_wants(t, &quiet));
    assert_false(tracer_wants(NULL, &sampled));
    tracer_free(t);
}

TEST(nobody_is_a_tracer_that_does_nothing)
{
    struct trace_context context;
    tracer_add(NULL, &small);
    assert_false(tracer_begins(NULL, &context));
    assert_int_equal(figures(NULL).spans, 0);
    tracer_free(NULL);
}

TEST(all_some_or_none_begin_a_trace)
{
    enum { CALLS = 100000 };
    struct tracer *none = tracer_new(0), *all = tracer_new(TRACER_PARTS),
                  *some = tracer_new(TRACER_PARTS / 10);
    struct trace_context context, before = {0};
    unsigned begun = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        assert_false(tracer_begins(none, &context));
        assert_true(tracer_begins(all, &context));
        assert_true(trace_context_is(&context) && trace_context_sampled(&context));
        assert_memory_not_equal(context.trace, before.trace, TRACE_ID_LEN);
        before = context;
        begun += tracer_begins(some, &context);
    }
    /* A tenth, within ten standard deviations. */
    assert_in_range(begun, CALLS / 10 - 950, CALLS / 10 + 950);
    tracer_free(none);
    tracer_free(all);
    tracer_free(some);
}

TEST(derived_ids_are_the_same_each_time_and_others_elsewhere)
{
    uint8_t a[SPAN_ID_LEN], b[SPAN_ID_LEN];
    struct trace_context other = sampled;
    other.trace[0] = 'x';
    tracer_derive_id(&sampled, 7, 1, a);
    tracer_derive_id(&sampled, 7, 1, b);
    assert_memory_equal(a, b, SPAN_ID_LEN);
    tracer_derive_id(&sampled, 7, 2, b);
    assert_memory_not_equal(a, b, SPAN_ID_LEN);
    tracer_derive_id(&sampled, 8, 1, b);
    assert_memory_not_equal(a, b, SPAN_ID_LEN);
    tracer_derive_id(&other, 7, 1, b);
    assert_memory_not_equal(a, b, SPAN_ID_LEN);
}

static void count_call(void *arg)
{
    ++*(unsigned *)arg;
}

TEST(they_come_in_order_and_the_first_of_a_list_wakes)
{
    struct tracer *t = tracer_new(0);
    struct otlp_span span = small;
    unsigned woken = 0;
    tracer_on_first(t, count_call, &woken);
    for (span.start = 1; span.start <= 3; span.start++)
        tracer_add(t, &span);
    assert_int_equal(woken, 1);
    assert_int_equal(figures(t).waiting, 3);
    uint64_t n = 0;
    for (struct tracer_span *at = tracer_take(t), *next; at; at = next) {
        uint8_t bytes[256];
        next = tracer_next(at);
        span.start = ++n;
        assert_int_equal(at->len, otlp_span_size(&span));
        otlp_span_write(&span, bytes);
        assert_memory_equal(at->bytes, bytes, at->len);
        tracer_done(t, at, n < 3);
    }
    assert_int_equal(n, 3);
    tracer_add(t, &span);
    assert_int_equal(woken, 2);
    assert_int_equal(take_all(t, true), 1);
    struct tracer_figures f = figures(t);
    assert_true(f.spans == 4 && f.exported == 3 && f.dropped == 1 && f.waiting == 0);
    tracer_free(t);
}

TEST(beyond_their_number_they_are_dropped_until_some_are_given_back)
{
    struct tracer *t = tracer_new(0);
    for (unsigned i = 0; i < TRACER_SPANS + 5; i++)
        tracer_add(t, &small);
    assert_int_equal(figures(t).dropped, 5);
    assert_int_equal(figures(t).waiting, TRACER_SPANS);
    assert_int_equal(take_all(t, true), TRACER_SPANS);
    tracer_add(t, &small);
    assert_int_equal(figures(t).dropped, 5);
    tracer_free(t); /* with what waits */
}

TEST(beyond_their_bytes_they_are_dropped_too)
{
    enum { LARGE = 64 * 1024 };
    static char text[LARGE];
    struct tracer *t = tracer_new(0);
    struct otlp_span span = small;
    memset(text, 'x', sizeof text);
    span.failed = true;
    span.error = span_of(text, sizeof text);
    for (unsigned i = 0; i < 2 * TRACER_BYTES / LARGE; i++)
        tracer_add(t, &span);
    assert_int_equal(figures(t).waiting, TRACER_BYTES / otlp_span_size(&span));
    assert_int_equal(take_all(t, false), TRACER_BYTES / otlp_span_size(&span));
    tracer_add(t, &span);
    assert_int_equal(figures(t).waiting, 1);
    tracer_free(t);
}
