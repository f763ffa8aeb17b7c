/* The lists that a job can stand in, and what a job takes. */
#include <stdlib.h>

#include "server/jobs/operations/operation.h"
#include "server/jobs/core/job.h"
#include "tests/support/cmocka_env.h"

TEST(first_in_first_out)
{
    struct job a = {0}, b = {.arrival = 1}, c = {.arrival = 2};
    struct job_list list = {0};
    job_list_push(&list, &b);
    job_list_push(&list, &c);
    job_list_insert(&list, &a, NULL);
    assert_int_equal(list.count, 3);
    assert_ptr_equal(b.list, &list);
    assert_ptr_equal(job_list_pop(&list), &a);
    assert_ptr_equal(job_list_pop(&list), &b);
    assert_ptr_equal(job_list_pop(&list), &c);
    assert_null(job_list_pop(&list));
    assert_null(list.last);
    assert_null(a.list);
}

TEST(put_by_arrival_from_anywhere)
{
    enum { JOBS = 5 };
    for (int put = 0; put < JOBS; put++)
        for (int near = 0; near <= JOBS; near++) {
            struct job e[JOBS] = {0};
            struct job_list list = {0};
            for (int i = 0; i < JOBS; i++) {
                e[i].arrival = (uint64_t)i;
                if (i != put)
                    job_list_push(&list, &e[i]);
            }
            job_list_insert(&list, &e[put], near == put || near == JOBS ? NULL : &e[near]);
            for (int i = 0; i < JOBS; i++) {
                assert_ptr_equal(e[i].prev, i > 0 ? &e[i - 1] : NULL);
                assert_ptr_equal(e[i].next, i < JOBS - 1 ? &e[i + 1] : NULL);
            }
            assert_ptr_equal(list.first, &e[0]);
            assert_ptr_equal(list.last, &e[JOBS - 1]);
        }
}

TEST(unlinked_from_anywhere)
{
    for (int gone = 0; gone < 3; gone++) {
        struct job e[3] = {0};
        struct job_list list = {0};
        for (int i = 0; i < 3; i++)
            job_list_push(&list, &e[i]);
        job_list_remove(&e[gone]);
        job_list_remove(&e[gone]);
        assert_int_equal(list.count, 2);
        assert_ptr_equal(list.first, &e[gone == 0]);
        assert_ptr_equal(list.last, &e[gone == 2 ? 1 : 2]);
        assert_ptr_equal(list.first->next, list.last);
        assert_ptr_equal(list.last->prev, list.first);
    }
}

TEST(everything_that_hangs_on_it_counts)
{
    struct blob result = {.len = 100};
    char code[] = "FAILED", text[] = "no";
    struct job_result end = {0};
    struct dependencies edges = {.count = 1, .room = 3, .open = 1};
    struct job_more more = {0};
    struct job e = {0};
    size_t before = job_bytes(&e), after;
    assert_true(before >= sizeof e);
    e.body_len = 64;
    assert_true((after = job_bytes(&e)) >= before + 64);
    e.end = &end;
    assert_true((before = job_bytes(&e)) >= after + sizeof end);
    end = (struct job_result){.result = &result};
    assert_true((after = job_bytes(&e)) >= before + result.len);
    end = (struct job_result){.cut = true, .code = code, .text = text};
    assert_in_range(job_bytes(&e), before + sizeof code + sizeof text, after - 1);
    before = job_bytes(&e);
    e.more = &more;
    assert_true((after = job_bytes(&e)) >= before + sizeof more);
    more = (struct job_more){.after_count = 3, .after = &edges};
    assert_true(job_bytes(&e) >= after + 3 * sizeof(uint64_t) + 3 * sizeof(struct dependency));
}

/* Half a kilobyte is the bound of a delayed task with 64 bytes of parameters. */
TEST(a_plain_entry_is_small)
{
    struct job e = {.body_len = 64};
    assert_true(job_bytes(&e) <= 400);
}

TEST(the_defaults_of_an_order)
{
    struct job_spec spec;
    job_spec_init(&spec);
    assert_int_equal(spec.priority, 5);
    assert_int_equal(spec.retries, 0);
    assert_int_equal(spec.timeout, AO_NEVER);
    assert_int_equal(spec.deadline, AO_NEVER);
    assert_int_equal(spec.durable, DURABLE_ASYNC);
    assert_int_equal(spec.method.len, 0);
}

TEST(an_ask_frees_what_it_owns)
{
    struct operation *op = operation_new(NULL, &operation_task_submit_many);
    assert_int_equal(op->cls, &operation_task_submit_many);
    op->memory = block_new(10);
    op->message = block_new(BLOCK_PAGES);
    op->submission.count = 2;
    op->submission.outcomes = calloc(2, sizeof *op->submission.outcomes);
    op->submission.outcomes[1].text = malloc(10);
    pack_init(&op->reply.result);
    pack_uint(&op->reply.result, 7);
    operation_free(op);
    operation_free(operation_new(NULL, &operation_server_audit));
    operation_free(NULL);
}
