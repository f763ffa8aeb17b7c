/* The rule that each job is held against after each piece of work: list, permit, token and attempt
 * go with its state.  Each way of breaking it is seen. */
#include "server/jobs/effects.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/death.h"
#include "tests/support/jobs_stage.h"

static struct job *queued(struct jobs_world *w)
{
    w->room[1] = 0;
    return world_job(w, jobs_world_submit(w, &WORK()));
}

static struct job *running(struct jobs_world *w)
{
    w->room[1] = 1;
    struct job *job = world_job(w, jobs_world_submit(w, &WORK()));
    jobs_world_settle(w);
    assert_int_equal(world_job(w, job->id)->state, JOB_RUNNING);
    return job;
}

/* As whoever has worked on the job does. */
static void finish_work_on(void *arg)
{
    struct job *job = arg;
    struct jobs *jobs = ao_of(job->queue->table, struct jobs, table);
    job_effect(job->queue->table, job, EFFECT_TIMER);
    effects_apply(jobs);
}

#define CHECK_TEST(name) JOBS_TEST(name, )

CHECK_TEST(a_queued_job_stands_in_its_fair_queue)
{
    struct job *job = queued(w);
    finish_work_on(job);
    job_unmark(job, JOB_ENQUEUED);
    expect_broken_assert(finish_work_on, job, "job_is(job, JOB_AWAITS_ROW | JOB_ENDING)");
    job_mark(job, JOB_ENQUEUED);
}

CHECK_TEST(a_running_job_stands_among_the_running)
{
    struct job *job = running(w);
    struct job_list *list = job->list;
    finish_work_on(job);
    job_list_remove(job);
    expect_broken_assert(finish_work_on, job, "out && job->attempt_task");
    job_list_push(list, job);
}

CHECK_TEST(a_permit_is_one_of_a_limit)
{
    struct job *job = running(w);
    job_mark(job, JOB_HAS_PERMIT);
    expect_broken_assert(finish_work_on, job, "JOB_HAS_PERMIT");
    job_unmark(job, JOB_HAS_PERMIT);
}

CHECK_TEST(the_place_for_suspects_has_one_owner)
{
    struct job *job = running(w);
    job_mark(job, JOB_QUARANTINED);
    expect_broken_assert(finish_work_on, job, "s->suspect == job");
    job_unmark(job, JOB_QUARANTINED);
}

CHECK_TEST(what_has_ended_has_no_attempt)
{
    struct job *job = running(w);
    struct task *attempt = job->attempt_task;
    world_finish(world_run_of(w, job->id), "\x01");
    jobs_world_settle(w);
    finish_work_on(job);
    job->attempt_task = attempt;
    expect_broken_assert(finish_work_on, job, "!job->attempt_task || out");
    job->attempt_task = NULL;
}
