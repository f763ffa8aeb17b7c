"""The checker of what a cluster promises (tests/cluster/checker.py): it notices what is planted, and nothing else."""
import os
import sys
import unittest

sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "cluster")))

import checker  # noqa: E402


def acknowledged(at, id, key, durable, **options):
    return checker.Acknowledged(at, id, key, durable, at - 0.5, **options)


def good():
    """A history in which all is right, with the tasks at its end."""
    history = checker.History()
    history.acknowledged = [
        acknowledged(1, "t1", "k1", "replicated"), acknowledged(2, "t2", "k2", "fsync"),
        acknowledged(3, "t1", "k1", "replicated"), acknowledged(3, "t3", "k3", "none"), acknowledged(3, "t7", "k7", "replicated"),
        acknowledged(3, "t5", "k5", "fsync", limit=("l", 1)),
        acknowledged(3, "t6", "k6", "fsync", limit=("l", 1), rate=("r", 1, 1000.0))]
    history.begun = [(4, "t1", 1, "a"), (5, "t2", 1, "a"), (6, "t1", 3, "b"), (7, "t3", 1, "a"), (8, "t3", 1, "b"),
                     (9, "t4", 1, "a"), (20, "t1", 2, "a"), (21, "t5", 1, "a"), (21, "t6", 1, "a"), (22, "t6", 2, "a")]
    history.finished = [(24, "t6", 1), (22, "t5", 1), (24, "t6", 2)]
    history.stood_still = [(19, "a")]
    history.leapt = [(20, "a")]
    history.ended = [(10, "t1", "done"), (11, "t2", "failed"), (8, "t7", "done")]
    history.missed = [(9, "t2"), (9, "t3")]
    history.granted = [(2, 1, "s", 4), (5, 3, "s", 6), (4, 3, "s", 5), (9, 8, "s", 7), (9, 8, "other", 1)]
    history.held = [checker.Hold(5, "s", 2, 4, 1), checker.Hold(6, "s", 4, 5, 1)]
    history.pages = [
        checker.Page(2.1, "f", 2, None, False, [(1, "started", "t2")]),
        checker.Page(10, "f", 9, None, False, [(2, "done", "t7")]),
        checker.Page(12, "f", 10.5, None, True, [(3, "done", "t1"), (4, "done", "t3")]),
        checker.Page(13, "f", 12, "restart", False, [(1, "done", "t3")])]
    tasks = {"t1": {"state": "done", "key": "k1"}, "t2": {"state": "failed", "key": "k2"},
             "t7": {"state": "done", "key": "k7"}, "t5": {"state": "done", "key": "k5", "accepted": {1}},
             "t6": {"state": "done", "key": "k6", "accepted": {2}},
             "c1": {"state": "done", "key": "cron c at 1"}, "c2": {"state": "done", "key": "cron c at 2"}}
    return history, tasks


class CheckerTest(unittest.TestCase):
    def found(self, plant):
        history, tasks = good()
        plant(history, tasks)
        return list(checker.violations(history, tasks))

    def test_what_is_right_is_let_pass(self):
        self.assertEqual(self.found(lambda history, tasks: None), [])

    def test_each_violation_is_noticed(self):
        for plant, said in (
                (lambda h, t: t.pop("t1"), "lost: t1"),
                (lambda h, t: t["t1"].update(state="running"), "open: t1"),
                (lambda h, t: h.missed.append((9, "t1")), "missed: t1"),
                (lambda h, t: h.acknowledged.append(acknowledged(9, "t9", "k1", "fsync")), "key k1 has 2 tasks"),
                (lambda h, t: t.update(t9={"state": "done", "key": "k1"}), "key k1 has 2 tasks"),
                (lambda h, t: h.acknowledged.append(acknowledged(9, "t2", "k9", "fsync")), "id t2 was given twice"),
                (lambda h, t: h.begun.append((9, "t1", 3, "b")), "attempt 3 of t1 began twice"),
                (lambda h, t: h.begun.append((20, "t1", 3, "a")), "attempt 3 of t1 began twice"),
                (lambda h, t: h.stood_still.clear(), "attempt 2 of t1 began after attempt 3"),
                (lambda h, t: h.begun.append((12, "t2", 2, "a")), "attempt 2 of t2 began 1.000 s after its end"),
                (lambda h, t: h.granted.append((12, 11, "s", 7)), "fence 7 of s was granted after 7"),
                (lambda h, t: h.granted.append((6, 1, "s", 6)), "fence 6 of s was granted twice"),
                (lambda h, t: t.update(c3={"state": "done", "key": "cron c at 2"}), "2 tasks for one firing: cron c at 2"),
                (lambda h, t: t["t6"].update(accepted={1}), "limit l: 2 ran at once"),
                (lambda h, t: h.leapt.clear(), "rate r: 2 began in 1.0 s"),
                (lambda h, t: h.held.append(checker.Hold(6, "s", 3, 5, 1)), "semaphore s: 2 were held at once"),
                (lambda h, t: h.pages[1].events.append((4, "queued", "t9")), "feed of f: event 4 follows 2"),
                (lambda h, t: h.pages[3].events.append((2, "done", "t1")), "feed of f: t1 is done, and was done"),
                (lambda h, t: t["t1"].update(state="dead"), "feed of f: t1 is done, and is dead"),
                (lambda h, t: h.pages[1].events.clear(), "feed of f: event 3 follows 1"),
                (lambda h, t: h.pages[1].events.__setitem__(0, (2, "queued", "t7")),
                 "feed of f: t7 ended, and no event says so")):
            with self.subTest(said=said):
                self.assertIn(said, " ".join(self.found(plant)))


if __name__ == "__main__":
    unittest.main()
