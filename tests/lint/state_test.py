#!/usr/bin/python3
"""Each member of what tasks, limits, rates, semaphores, holds, queues and tenants are is accounted for: a deed of
tests/unit/jobs/restart_test.c changes it, or the reason given here why it does not outlive a server.
Each method that the jobs answer is one that a deed uses, or changes nothing that does.

First the test leaves out what it plants and expects to find that; then it reads ours.
"""

import re

import tree

TEST = "tests/unit/jobs/restart_test.c"
METHODS = "proto/methods.h"

# Instead of a deed: why a member is none that a restart could forget.
LINK = "-link"        # where it stands in lists, tables, heaps, and what it belongs to
CACHE = "-cache"      # follows from other members, or is counted again
UNDER_WAY = "-under way"  # of an attempt, a write or a step that ends with the process
FILE = "-file"        # what the file says, or knows
FLEETING = "-fleeting"  # promised to be in memory only

STATE = {
    "server/jobs/core/job.h": {
        "job": {
            LINK: "prev next list all_prev all_next open_prev open_next by_id id_next next_effect queue "
                  "tenant waits is_followed timer",
            CACHE: "body_len level reason ready until arrival effects",
            UNDER_WAY: "attempt_task places orphans pending looks ending save_error is_held",
            FILE: "row_attempt saved_attempt row saved counted is_message",
            "a_submission_that_waits": "id body more created params_len timeout retries priority durable deadline "
                                       "deadline_at",
            "a_submission_with_a_time": "due",
            "a_batch_with_members": "in_batch",
            "an_end": "end ended state",
            "an_attempt_that_runs": "started attempt ran_by crashes history flags",
            "a_failure_that_is_tried_again": "failures",
        },
        "job_more": {
            LINK: "late dependents next_releasing is_late releasing",
            CACHE: "message after names_results holds_results readers filled",
            UNDER_WAY: "joins hardens calls watchers sent sends_refused checkpoint_unsaved",
            FLEETING: "progress_done progress_total progress_text",
            "a_submission_that_waits": "key policy",
            "a_submission_with_a_limit": "claim limit_max",
            "a_submission_with_other_numbers": "rate rate_per",
            "one_that_comes_after_others": "after_ids after_count after_any_count",
            "one_that_failed_after_another": "after_failed",
            "a_retry_of_one_whose_predecessor_failed": "settled",
            "a_lost_worker": "losses lost",
            "a_checkpoint": "checkpoint",
            "a_cancel_of_a_share": "waiters coalesce",
            "one_with_a_trace": "trace",
        },
    },
    "server/jobs/sched/limits.h": {
        "limit": {
            LINK: "key gate semaphore to_note late refs",
            CACHE: "taken durable moved",
            FILE: "listed row row_at",
            "a_submission_with_other_numbers": "max",
            "a_sem_create": "kept",
        },
        "rate": {
            LINK: "key gate timer scheduler refs",
            CACHE: "weighed durable moved",
            UNDER_WAY: "held",
            FILE: "untold note",
            "a_submission_with_other_numbers": "of",
            "one_at_its_rate": "starts",
        },
    },
    "server/jobs/batches/batch.h": {
        "batch": {
            LINK: "by_id prev next jobs tenant children due next_due watchers timer by_unsaved",
            CACHE: "bytes open child_open child_ended forgotten audit_open audit_ended",
            UNDER_WAY: "arrives held held_now leaving leaving_count leaving_room leaving_now under_way dirty riding waiting trouble refused save_at",
            FILE: "unsaved gone",
            "a_batch_with_members": "parent calls created keep durable",
            "a_batch_that_is_closed": "state",
            "a_batch_that_has_ended": "ended_at sent",
            "a_batch_with_a_member_that_failed": "ended",
            "a_batch_that_is_cancelled": "cancelled",
        },
    },
    "server/jobs/semaphores/semaphore.h": {
        "semaphore": {
            LINK: "jobs line prev next first last",
            CACHE: "held_count",
            FLEETING: "waiting waiting_count",
            UNDER_WAY: "writes",
            FILE: "row unsaved by_unsaved",
            "a_sem_create": "durable",
        },
    },
    "server/jobs/semaphores/holds.h": {
        "hold": {
            LINK: "by_secret by_fence timer semaphore prev next holder_prev holder_next holder next_over",
            CACHE: "lost_until is_over asked",
            UNDER_WAY: "op writes",
            FILE: "unsaved by_unsaved",
            "a_sem_acquire": "claim secret fence since ttl grace durable state who",
            "a_sem_renew": "ends",
        },
    },
    "server/jobs/core/table.h": {
        "job_queue": {
            LINK: "link table next method held next_moving moves open shown_next",
            CACHE: "by_state",
            UNDER_WAY: "saving operations",
            FILE: "saved_paused saved_draining saved_offer saved_secret",
            FLEETING: "submitted done failed",
            "a_submission_that_waits": "name",
            "an_offer_of_workers": "offer",
            "a_pause": "paused",
            "a_drain": "draining",
            "a_method_with_secrets": "secret",
        },
        "tenant": {
            LINK: "link fed shares share_room shown",
            CACHE: "jobs crons batches semaphores holds limits rates open open_bytes read_bytes actor_bytes kept weight",
            FLEETING: "events",
            "a_submission_that_waits": "name",
        },
    },
}

READS = ("task_get task_wait task_watch task_list task_events task_explain queue_list queue_explain queue_tenants event_wait sem_list "
         "sem_explain batch_get batch_list")
CRONS = "cron_put cron_list cron_delete cron_pause cron_resume cron_run"  # unit/jobs/crons_carried
ACTORS = ("actor_call actor_tell actor_get actor_list actor_explain actor_start actor_stop actor_wake actor_drop "
          "actor_watch actor_remind actor_forget actor_types")  # they are in memory only
ENDS = "task_call"  # its task is in memory only, and ends with its connection


def members(source, struct):
    """Names of the members of a struct, those of its unnamed parts among them."""
    body = re.search(rf"^struct {struct} {{\n(.*?)^}};", tree.code(source), re.S | re.M).group(1)
    body = re.sub(r"^\s*(?:union|struct) {|}(?=;)", ";", body, flags=re.M)
    found = []
    for line in re.sub(r"\[[^\]]*\]", "", body).split(";"):
        line = re.sub(r"(LIST_ENTRY|LIST_HEAD)\([^)]*\)", "int", line)
        line = re.sub(r":\s*\d+\s*$", "", line).strip()  # bits
        if line:
            found += [re.search(r"(\w+)\s*$", part).group(1) for part in line.split(",")]
    return found


def findings(state, text_of):
    test = text_of(TEST)
    deeds = set(re.findall(r"^DEED\((\w+)\)", test, re.M))
    for path, structs in state.items():
        for struct, rows in structs.items():
            named = [name for row in rows.values() for name in row.split()]
            there = members(text_of(path), struct)
            yield from (f"{path}: {struct}.{m}: no deed that changes it, and no reason" for m in there if m not in named)
            yield from (f"{path}: {struct}.{m}: there is no such member" for m in named if m not in there)
            yield from (f"{path}: {struct}.{m}: stands in two rows" for m in set(named) if named.count(m) > 1)
            yield from (f"{TEST}: there is no DEED({row})" for row in rows if row[0] != "-" and row not in deeds)
    for name in re.findall(r"^ *X\((?!server_|connection_|worker_|cluster_)(\w+),", text_of(METHODS), re.M):
        if f"&operation_{name}" not in test.replace("::", "") and name not in f"{READS} {CRONS} {ACTORS} {ENDS}".split():
            yield f"{METHODS}: {name}: no deed uses its operation"


def prove():
    state = {"a.h": {"a": {LINK: "next", "it_grows": "size up c d"}}}
    good = {"a.h": "struct a {\n    struct a *next; /* x; y */\n    union {\n        int size, up;\n        "
                   "struct {\n            int c[2];\n        };\n    };\n    LIST_HEAD(, b) d;\n};",
            TEST: "DEED(it_grows)\n&operation_put", METHODS: "    X(task_get, 1)\n    X(server_put, 1)\n    X(put, 1)\n"}
    assert not list(findings(state, good.get)), list(findings(state, good.get))
    for path, old, new in (("a.h", "size, up", "size, up, more"), ("a.h", "size, up", "size"), (TEST, "DEED(it", "(it"),
                           (TEST, "&operation_put", ""), ("a.h", " d;", " d, *e;")):
        assert list(findings(state, {**good, path: good[path].replace(old, new)}.get)), (path, new)


if __name__ == "__main__":
    prove()
    top = tree.root()
    tree.report(list(findings(STATE, lambda path: tree.text(top, path))))
