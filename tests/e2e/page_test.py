#!/usr/bin/python3
"""The page of the admin listener, in a real Chromium: each view, each action with what it does to the server, hostile names, the keyboard, little and
much room, sign-in, and a server that goes and comes.  Pictures go to the folder ERGON_SCREENSHOTS; ERGON_KEPT says how many tasks are kept in the
test that measures."""
import contextlib
import json
import os
import sys
import unittest

import msgpack

import harness
from bare_worker import Worker
from browser import browser, missing

BAD = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
VIEWS = {"overview": "Overview", "charts": "Charts", "methods": "Methods", "queues": "Queues", "tasks": "Tasks", "events": "Events",
         "batches": "Batches", "actors": "Actors", "workers": "Workers", "crons": "Crons", "semaphores": "Semaphores", "connections": "Connections"}
KEPT = int(os.environ.get("ERGON_KEPT", "20000"))


def admin_url(server):
    """Where the page is: the line behind those of the listeners."""
    if not hasattr(server, "admin"):
        server.admin = server.process.stdout.readline().strip()
    return server.admin


def setUpModule():
    browser()


class PageTest(harness.ServerTest):
    """A server with the page, and the one browser of all tests.  After each test the console has to be clean."""

    FLAGS = ("--admin", "http://127.0.0.1:0")
    WIDTH, HEIGHT = 1440, 900
    server_may_go = False

    def setUp(self):
        super().setUp()
        self.b = browser()
        self.b.size(self.WIDTH, self.HEIGHT)
        self.b.media(prefers_color_scheme="light", prefers_reduced_motion="reduce")
        self.b.complaints()
        self.addCleanup(self.leave)

    def leave(self):
        complaints = self.b.complaints(self.server_may_go)
        self.b.driver.get("about:blank")
        self.b.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.assertEqual(complaints, [])

    def open(self, view, live=True):
        """Opens a view by its address, and waits until the page is connected."""
        url = admin_url(self.server) + "/#/" + view
        if self.b.driver.current_url.split("#")[0] == admin_url(self.server) + "/":
            self.b.js("location.hash = arguments[0]", "#/" + view)
        else:
            self.b.driver.get(url)
        self.b.find("main h1")
        if live:
            self.b.sees("Live", "header")
        name = view.split("?")[0]
        if name in VIEWS:
            self.b.sees(VIEWS[name], "main h1")

    def row(self, key):
        """The selector of a table's row."""
        return 'tr[data-key="' + str(key).replace("\\", "\\\\").replace('"', '\\"') + '"]'

    def told(self, text):
        """The page says so, and the message is closed."""
        self.b.sees(text, "#toasts")
        while self.b.js("document.querySelector('#toasts button')?.click(); return document.querySelector('#toasts button') !== null"):
            pass

    def submit(self, *spec):
        return self.client.call("task.submit", *spec)["id"]

    def state(self, task):
        return self.client.call("task.get", task)["state"]


class Overview(PageTest):
    def test_figures_threads_and_what_needs_somebody(self):
        self.submit("sum", [1, 2])
        self.client.call("queue.pause", "sum")
        self.addCleanup(self.client.call, "queue.resume", "sum")
        self.open("overview")
        self.b.sees("The queue sum is paused", ".needs")
        self.b.sees("stepped 0", '[aria-label="Executors"]')
        self.b.sees("loop 0", '[aria-label="Loops"]')
        self.b.sees("Tasks kept", ".tiles")
        self.b.until(lambda: self.b.js("return document.querySelectorAll('.plot canvas').length") == 2, "two charts")
        version = self.client.call("server.info")["version"]
        self.b.sees(f"ergond {version}", "main")
        self.b.shot("overview")

    def test_charts_begin_with_what_the_server_has_kept(self):
        """With its first event the page knows what was done before anybody looked."""
        for _ in range(20):
            self.client.call("echo", 1)
        harness.eventually(lambda: any(self.client.call("server.figures")["values"]["done"]), "a sample has them")
        seen = lambda script: self.b.driver.execute_async_script(
            "const done = arguments[0]; import('/live.js').then(({ live }) => { const s = live.samples; done(%s); })" % script)
        self.open("charts")
        self.b.until(lambda: seen("live.last !== null && s.times.length > 1 && s.values.done.slice(0, -1).some((v) => v > 0)"), "calls of before")
        self.assertTrue(seen("s.times.every((t, i) => i === 0 || t > s.times[i - 1])"))
        self.assertTrue(seen("[...Object.values(s.values), ...s.handlers.values(), ...s.executors.values()].every((line) => line.length === s.times.length)"))
        self.assertTrue(seen("s.handlers.has('echo') && s.executors.has('stepped 0')"))

    def test_calls_are_counted_as_they_come(self):
        self.open("overview")
        done = lambda: int(self.client.call("server.info")["tasks"]["done"])

        def grows():
            self.client.call("echo", 1)
            return not self.b.text(".tile strong").startswith(("0/s", "–"))
        before = done()
        self.b.until(grows, "the rate of calls rises")
        self.assertGreater(done(), before)

    def test_what_nobody_runs_and_many_paused_queues_are_told(self):
        with self.server.connect() as worker:
            worker.call("worker.register", [f"nobody.{n}" for n in range(9)], {"slots": 1})
            for n in range(9):
                self.client.call("queue.pause", f"nobody.{n}")
                self.addCleanup(self.client.call, "queue.resume", f"nobody.{n}")
                self.submit(f"nobody.{n}", [])
            self.open("overview")
            self.b.sees("The queue nobody.0 is paused; 1 task waits.", ".needs")
            self.b.sees("3 more queues are paused or draining.", ".needs")
            self.b.sees("9 held", "nav")
        self.b.sees("1 task of nobody.8 waits, and neither an executor nor a worker runs them.", ".needs")
        self.assertEqual(self.b.js("return document.querySelector('.needs li').className"), "bad")
        self.assertEqual(self.client.call("task.cancel", {"all": True})["cancelled"], 9)

    def test_ages_go_by_the_clock_of_the_server(self):
        self.submit("sleep", ["1h"])
        self.addCleanup(self.client.call, "task.cancel", {"all": True})
        self.open("overview")
        self.b.js("const real = Date.now; Date.now = () => real() + 3 * 3600e3")
        seen = self.b.text("header")
        self.b.js("location.hash = '#/tasks'")
        self.b.until(lambda: self.b.text("main tbody") and " h " not in self.b.text("main tbody") and ("s ago" in self.b.text("main tbody") or "now" in self.b.text("main tbody")),
                     f"a task is as old as the server says, {seen}")

    def test_an_executor_that_is_stuck_is_marked(self):
        self.open("overview")

        def marked():
            if self.b.js("return document.querySelector('tr.stuck') !== null"):
                return True
            # It is over soon, so that the server can stop, and so perhaps before anybody looks: then another follows.
            with contextlib.suppress(harness.RemoteError):
                self.client.call("task.call", "block", ["2s", {"ignore_cancel": True}], {"deadline": 20})
            return False
        self.b.until(marked, "an executor is marked as stuck")
        self.b.sees("is stuck", ".needs")
        self.b.shot("overview-stuck")

    def test_charts_are_drawn(self):
        self.submit("echo", [1])
        self.open("charts")
        self.b.until(lambda: self.b.js("return document.querySelectorAll('.plot canvas').length") >= 10, "ten charts")
        self.b.sees("done", ".u-legend")
        self.b.shot("charts")


    def test_what_every_object_has_is_no_view(self):
        self.open("overview")
        for view in ("constructor", "__proto__", "toString"):
            self.b.js("location.hash = arguments[0]", "#/" + view)
            self.b.sees(f'There is no view "{view}".', "main")


class Queues(PageTest):
    def queue(self, method):
        return next(q for q in self.client.call("queue.list") if q["method"] == method)

    def test_pause_resume_drain(self):
        self.submit("echo", [1])
        self.submit("sum", [1])
        self.open("queues")
        row = self.row("echo")
        self.b.click("Pause", row)
        self.told("The queue echo is paused.")
        self.assertTrue(self.queue("echo")["paused"])
        self.assertFalse(self.queue("sum")["paused"])
        self.b.sees("paused", row)
        self.b.shot("queues")
        self.b.click("Resume", row)
        self.told("The queue echo is open again.")
        self.assertFalse(self.queue("echo")["paused"])
        self.b.click("Drain", row)
        self.b.agree()
        self.told("The queue echo drains.")
        self.assertTrue(self.queue("echo")["draining"])
        self.b.click("Resume", row)
        self.told("The queue echo is open again.")
        self.assertFalse(self.queue("echo")["draining"])

    def test_tenants_and_the_way_to_tasks(self):
        self.submit("echo", [1])
        self.open("queues")
        self.b.sees("anybody", 'table[aria-label="Tenants"]')
        self.b.press(self.row("echo") + " a")
        self.b.until(lambda: self.b.js("return location.hash") == "#/queues/echo", "the queue leads to its page")
        self.b.click_link("all tasks of this method", "main")
        self.b.until(lambda: self.b.js("return location.hash") == "#/tasks?method=echo", "and that to its tasks")

    def test_one_queue(self):
        with self.server.connect() as worker:
            name = worker.call("worker.register", ["resize"], {"slots": 1, "name": "img-1"})["worker"]
            tasks = [self.submit("resize", [n]) for n in range(3)]
            other = self.submit("echo", [1])
            self.addCleanup(self.client.call, "task.cancel", {"method": "resize"})
            self.open("queues/resize")
            self.b.sees("every executor of its kind is full", ".why")
            figures = lambda: dict(self.b.js("return [...document.querySelectorAll('.tile')].map((t) => [t.children[0].innerText, t.children[1].innerText])"))
            self.b.until(lambda: figures()["queued"] == "2" and figures()["running"] == "1", "its figures")
            listed = lambda label: self.b.js("return [...document.querySelectorAll('main table[aria-label=\"' + arguments[0] + '\"] tbody tr')].map((r) => r.dataset.key)", label)
            self.b.until(lambda: listed("Latest tasks") == tasks[::-1], "its tasks, the newest first")
            self.b.until(lambda: listed("Workers") == [name], "its worker")
            self.assertNotIn(other, self.b.text("main"))
            self.b.shot("queue")
            self.b.click("Pause", ".heading")
            self.told("The queue resize is paused.")
            self.b.sees("paused", ".heading")
            self.b.sees("Its queue is paused.", ".why")
            self.assertTrue(self.queue("resize")["paused"])
            self.b.click("Resume", ".heading")
            self.told("The queue resize is open again.")
            self.b.click("Drain", ".heading")
            self.b.agree()
            self.told("The queue resize drains.")
            self.b.sees("draining", ".heading")
            self.b.click("Resume", ".heading")
            self.told("The queue resize is open again.")
            self.b.click_link("queued", ".tiles")
            self.b.until(lambda: self.b.js("return location.hash") == "#/tasks?method=resize&state=queued", "a figure leads to its tasks")
        self.open("queues/no.such.queue")
        self.b.sees("There is no queue no.such.queue", "main")

    def test_a_question_that_is_left_does_nothing(self):
        self.submit("echo", [1])
        self.open("queues")
        self.b.click("Drain", self.row("echo"))
        self.b.find("dialog[open]")
        self.b.click("Keep it open", "dialog")
        self.b.until(lambda: not self.b.js("return document.querySelector('dialog')"), "the question goes")
        self.assertFalse(self.queue("echo")["draining"])


class Tasks(PageTest):
    def ids(self):
        return self.b.js("return [...document.querySelectorAll('main table[aria-label=Tasks] tbody tr')].map((r) => r.dataset.key)")

    def search(self, text):
        field = self.b.find("#search")
        field.clear()
        field.send_keys(text, "\n")

    def test_filter_and_search(self):
        # Six tasks of which each condition means others.
        failed = self.submit("fail", ["OOPS", "as it is"], {"key": "f-1"})
        done = [self.submit("echo", [n], {"key": f"two words {n}"}) for n in range(2)]
        later = [self.submit("echo", [n], {"delay": "1h", "key": f"later-{n}"}) for n in range(2)]
        self.client.call("task.wait", [failed, *done])
        self.open("tasks")
        shows = lambda *ids: lambda: set(self.ids()) == set(ids)
        self.b.until(lambda: set(self.ids()) >= {failed, *done, *later}, "all are listed")
        self.b.shot("tasks")
        self.b.click("delayed", ".chips")
        self.search("method:echo")
        self.b.until(lambda: set(later) <= set(self.ids()) and not {failed, *done} & set(self.ids()), "only those that are delayed")
        self.b.click("all", ".chips")
        self.search('key:"two words 1"')
        self.b.until(shows(done[1]), "one by its key")
        self.search("fail")
        self.b.until(lambda: failed in self.ids() and not {*done, *later} & set(self.ids()), "those of a method")
        self.b.sees("OOPS: as it is", self.row(failed))
        self.search("tenant:nobody-of-this-name")
        self.b.until(shows(), "none of a tenant that has none")
        self.b.sees("No task matches", "main")
        self.b.until(lambda: self.b.text('[data-state="failed"] .n') == str(self.client.call("server.info")["kept"]["states"]["failed"]), "the counts of states stay")
        self.b.sees("Counts are of all tasks", ".chips")
        self.search("colour:red")
        self.b.sees('There is no "colour:"', "main")
        self.search(later[0])
        self.b.sees(later[0], ".task-head")

    def test_pages(self):
        made = [self.submit("echo", [n], {"key": f"page-{n}", "delay": "1h"}) for n in range(230)]
        newest = made[::-1]
        self.open("tasks?state=delayed")
        self.b.until(lambda: self.ids() == newest[:100], "the newest hundred, in order")
        self.b.click("Older", ".pager")
        self.b.until(lambda: self.ids() == newest[100:200], "the second page")
        self.b.keys("]")
        self.b.until(lambda: self.ids()[:30] == newest[200:], "the third page, by a key")
        self.b.keys("[", "[")
        self.b.until(lambda: self.ids() == newest[:100], "back on the first")
        self.client.call("task.cancel", {"state": "delayed", "method": "echo"})

    def chosen(self):
        return self.b.js("return [...document.querySelectorAll('main tr[aria-selected=true]')].map((r) => r.dataset.key)")

    def pick(self, task, *keys):
        """Clicks the checkbox of the task, with keys held down."""
        self.b.click_with(self.row(task) + " .pick input", *keys)

    def test_all_that_match(self):
        mine = [self.submit("hash", ["sha256", "x"], {"delay": "1h"}) for _ in range(3)]
        other = self.submit("sum", [1], {"delay": "1h"})
        self.open("tasks?method=hash&state=delayed")
        self.b.until(lambda: set(self.ids()) == set(mine), "they are listed")
        self.b.click("Select all that match", ".selection")
        self.b.sees("All that match selected", ".selection")
        self.assertEqual(set(self.chosen()), set(mine))
        mine.append(self.submit("hash", ["sha256", "y"], {"delay": "1h"}))
        self.b.until(lambda: set(self.chosen()) == set(mine), "one that comes meanwhile is meant, too")
        self.b.click("Cancel", ".selection")
        self.b.sees("Cancel 4 tasks?", "dialog")
        self.b.sees("state:delayed method:hash", "dialog")
        self.assertEqual(self.b.js("return [...document.querySelectorAll('dialog button')].map((b) => b.innerText)"), ["Keep them", "Cancel 4 tasks"])
        self.assertEqual(self.b.js("return document.activeElement.innerText"), "Keep them", "Enter alone cancels nothing")
        self.b.shot("tasks-ask")
        self.assertEqual({self.state(t) for t in mine}, {"delayed"}, "nothing is done before it is agreed")
        self.b.agree()
        self.told("4 tasks cancelled.")
        self.assertEqual({self.state(t) for t in mine}, {"cancelled"})
        self.assertEqual(self.state(other), "delayed")
        self.client.call("task.cancel", other)
        self.client.call("queue.pause", "hash")
        self.addCleanup(self.client.call, "queue.resume", "hash")
        self.open("tasks?method=hash&state=cancelled")
        self.b.until(lambda: set(self.ids()) == set(mine), "those that are cancelled are listed")
        self.b.click("Select all that match", ".selection")
        self.b.click("Retry", ".selection")
        self.b.agree()
        self.told("4 tasks retried.")
        self.assertEqual({self.state(t) for t in mine}, {"waiting"})
        self.client.call("task.cancel", {"method": "hash"})

    def test_select_some(self):
        mine = [self.submit("hash", ["sha256", n], {"delay": "1h"}) for n in range(6)][::-1]
        self.open("tasks?method=hash&state=delayed")
        self.b.until(lambda: self.ids() == mine, "they are listed")
        self.assertEqual(self.b.js("return [...document.querySelectorAll('.selection .buttons button')].map((b) => b.disabled)"), [True] * 3, "nothing can be done with nothing")
        self.pick(mine[1])
        self.pick(mine[4], "SHIFT")
        self.assertEqual(self.chosen(), mine[1:5], "with shift: all between")
        self.pick(mine[2])
        self.assertEqual(self.chosen(), [mine[1], mine[3], mine[4]])
        self.b.sees("3 tasks selected", ".selection")
        self.assertTrue(self.b.js("return document.querySelector('.selection input').indeterminate"), "some of this page")
        newer = self.submit("hash", ["sha256", "z"], {"delay": "1h"})
        self.b.until(lambda: self.ids()[0] == newer, "the list goes on")
        self.assertEqual(self.chosen(), [mine[1], mine[3], mine[4]], "and these stay selected")
        self.b.shot("tasks-some")
        self.assertEqual(self.b.js("return [...document.querySelectorAll('.selection .buttons button')].map((b) => [b.innerText, b.disabled])"), [["Retry", True], ["Cancel", False], ["Delete", True]])
        self.assertEqual(self.b.js("return document.querySelector('.selection [data-method=\"task.retry\"]').title"), "all of these are not failed, dead, expired or cancelled")
        self.b.click("Cancel", ".selection")
        self.b.sees("Cancel 3 tasks?", "dialog")
        self.b.agree()
        self.told("3 tasks cancelled.")
        self.b.until(lambda: self.ids() == [newer, mine[0], mine[2], mine[5]], "they are no longer delayed")
        self.assertEqual(self.chosen(), [])
        self.b.press(".selection input")
        self.b.sees("4 tasks selected", ".selection")
        self.b.keys("ESCAPE")
        self.b.until(lambda: self.chosen() == [], "Escape selects none")
        self.client.call("task.cancel", {"method": "hash"})

    def test_what_was_not_done_is_told(self):
        mine = [self.submit("hash", ["sha256", n], {"delay": "1h"}) for n in range(3)]
        done = self.submit("hash", ["sha256", "now"])
        self.client.call("task.wait", done)
        self.open("tasks?method=hash")
        self.b.until(lambda: {*mine, done} <= set(self.ids()), "they are listed")
        for task in (*mine, done):
            self.pick(task)
        # The list is held as it is, while two of the tasks change.
        self.b.js("window.was = window.fetch; window.fetch = (url, options) => (String(options?.body).includes('task.list') ? new Promise(() => {}) : window.was(url, options))")
        self.addCleanup(self.b.js, "window.fetch = window.was ?? window.fetch")
        self.client.call("task.cancel", mine[0])
        self.client.call("task.cancel", mine[1])
        self.client.call("task.forget", mine[1])
        self.b.click("Cancel", ".selection")
        self.b.sees("Cancel 3 tasks?", "dialog")
        self.b.sees("1 selected task is ended already", "dialog")
        self.b.agree()
        self.b.sees("1 task cancelled, 2 not", "dialog.help")
        self.b.sees(f"{mine[0]} It is cancelled, or other submissions still want it.", "dialog.help")
        self.b.sees(f"{mine[1]} Not found", "dialog.help")
        self.b.shot("tasks-not-all")
        self.assertEqual(self.state(mine[2]), "cancelled")
        self.b.keys("ESCAPE")
        self.assertEqual(set(self.chosen()), {mine[0], mine[1], done}, "these stay selected")

    def test_selected_by_the_keyboard(self):
        mine = [self.submit("hash", ["sha256", n], {"delay": "1h"}) for n in range(5)][::-1]
        self.open("tasks?method=hash&state=delayed")
        self.b.until(lambda: self.ids() == mine, "they are listed")
        self.b.keys("ARROW_DOWN", "x", "j", "j")
        self.assertEqual(self.chosen(), mine[:1])
        self.b.keys("SPACE")
        self.assertEqual(self.chosen(), [mine[0], mine[2]])
        self.b.keys("j", "X")
        self.assertEqual(self.chosen(), [mine[0], mine[2], mine[3]], "with shift: from the last one")
        self.b.chord("SHIFT", "ARROW_DOWN")
        self.assertEqual(self.chosen(), [mine[0], *mine[2:]])
        self.assertEqual(self.b.js("return document.activeElement.dataset.key"), mine[4])
        self.b.keys("x")
        self.assertEqual(self.chosen(), [mine[0], *mine[2:4]])
        self.client.call("task.cancel", {"method": "hash"})

    def test_selected_on_several_pages(self):
        made = [self.submit("sum", [n], {"delay": "1h"}) for n in range(130)][::-1]
        self.open("tasks?method=sum&state=delayed")
        self.b.until(lambda: self.ids() == made[:100], "the first page")
        self.pick(made[0])
        self.b.click("Older", ".pager")
        self.b.until(lambda: self.ids() == made[100:], "the second page")
        self.pick(made[100])
        self.b.sees("2 tasks selected, 1 not on this page", ".selection")
        self.b.click("Cancel", ".selection")
        self.b.agree()
        self.told("2 tasks cancelled.")
        self.assertEqual([self.state(made[n]) for n in (0, 1, 100)], ["cancelled", "delayed", "cancelled"])
        self.client.call("task.cancel", {"method": "sum"})

    def test_a_task_shows_up_as_it_is_submitted(self):
        self.open("tasks")
        task = self.submit("echo", ["now"])
        self.b.until(lambda: task in self.ids(), "a new task is on the first page")


class Methods(PageTest):
    def test_percentiles_of_the_last_minute_as_figures_and_pictures(self):
        self.open("methods")
        row = self.row("block")
        cells = lambda: self.b.js("return [...(document.querySelector(arguments[0])?.cells ?? [])].map((c) => c.innerText)", row)
        heads = self.b.js("return [...document.querySelectorAll('table[aria-label=Methods] th')].map((c) => c.innerText)")
        at = {name: heads.index(name) for name in ("run p50", "run p99", "queue p99")}

        def told():
            self.client.call("block", "20ms")
            now = cells()
            return now and now[at["run p50"]].endswith("ms") and now[at["queue p99"]] != "–"
        self.b.until(told, "the times of block are told")
        self.assertGreater(float(cells()[at["run p50"]].split()[0]), 15, "20 ms, in its bucket")
        self.b.until(lambda: self.b.js("return document.querySelectorAll('.plot canvas').length") == 2, "two pictures")
        self.b.sees("p99", ".u-legend")
        self.b.shot("methods")
        self.b.press(row + " a")
        self.b.sees("Run time, block", "main")
        self.assertEqual(self.b.js("return location.hash"), "#/methods/block")
        self.b.until(lambda: told() and "ms" in self.b.text(".u-legend"), "its own picture")
        self.b.shot("methods-one")
        self.b.keys("ESCAPE")
        self.b.sees("Run time, all methods", "main")


class Events(PageTest):
    def rows(self):
        return self.b.js("return [...document.querySelectorAll('.event-row')].map((r) => [Number(r.dataset.seq), r.querySelector('.badge').innerText, r.querySelector('a.id').innerText])")

    def choose(self, name, value):
        self.b.js("const e = document.querySelector(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('change', {bubbles: true}))", f'.filters [name="{name}"]', value)

    def test_they_come_as_they_happen(self):
        self.open("events")
        task = self.submit("echo", [1])
        of = lambda t: [event for _, event, id in self.rows() if id == t]
        self.b.until(lambda: of(task) == ["done", "started", "submitted"], "what happened to the task, the newest first")
        numbers = [seq for seq, _, _ in self.rows()]
        self.assertEqual(numbers, sorted(set(numbers), reverse=True), "each once, and in order")
        self.b.shot("events")
        self.b.keys("p")
        self.b.sees("held", "main .heading")
        before = self.rows()
        while_held = self.submit("echo", [2])
        self.client.call("task.wait", while_held)
        other = self.submit("sum", [2])
        self.client.call("task.wait", other)
        self.assertEqual(self.rows(), before, "nothing is added while it is held")
        self.b.click("Go on", ".heading")
        self.b.until(lambda: of(while_held) == of(other) == ["done", "started", "submitted"], "what came meanwhile follows")
        numbers = [seq for seq, _, _ in self.rows()]
        self.assertEqual(numbers, sorted(set(numbers), reverse=True), "nothing twice")

    def test_conditions(self):
        done, failed = self.submit("echo", [1], {"key": "ev-1"}), self.submit("fail", ["OOPS", "as it is"])
        self.client.call("task.wait", [done, failed])
        self.open("events")
        self.b.until(lambda: {done, failed} <= {id for _, _, id in self.rows()}, "both are there")
        self.choose("method", "fail")
        self.b.until(lambda: (r := self.rows()) and failed in {id for _, _, id in r} and done not in {id for _, _, id in r}, "those of a method")
        self.b.sees("OOPS: as it is", ".events")
        self.assertEqual(self.b.js("return location.hash"), "#/events?method=fail")
        self.choose("method", "")
        self.choose("key", "ev-1")
        self.b.until(lambda: (r := self.rows()) and {id for _, _, id in r} == {done}, "those of a key")
        self.choose("key", "")
        self.choose("state", "failed")
        self.b.until(lambda: (r := self.rows()) and {event for _, event, _ in r} == {"failed"}, "those that come to a state")
        self.choose("state", "")
        self.choose("tenant", "nobody-of-this-name")
        self.b.sees("No event meets these conditions yet", "main")
        self.open("events?method=echo")
        self.b.until(lambda: (r := self.rows()) and done in {id for _, _, id in r} and failed not in {id for _, _, id in r}, "conditions of the address")
        self.client.call("queue.pause", "echo")
        self.addCleanup(self.client.call, "queue.resume", "echo")
        self.b.sees("queue paused", ".events")

    def test_a_cron_that_is_paused_is_told(self):
        self.client.call("cron.put", "told", "@yearly", "echo", [], {"durable": "none"})
        self.addCleanup(self.client.call, "cron.delete", "told")
        self.open("events")
        self.client.call("cron.pause", "told")
        self.b.sees("cron paused", ".events")
        self.b.sees("cron told", ".events")
        self.client.call("cron.resume", "told")
        self.choose("event", "cron_resumed")
        self.b.until(lambda: (r := self.rows()) and {event for _, event, _ in r} == {"cron resumed"}, "its resume alone")
        self.b.js("[...document.querySelectorAll('.events a')].find((a) => a.innerText === 'cron told').click()")
        self.b.until(lambda: self.b.js("return location.hash") == "#/crons", "it leads to the crons")

    def test_a_task_leads_to_its_view(self):
        task = self.submit("echo", [1])
        self.open("events")
        self.b.until(lambda: task in {id for _, _, id in self.rows()}, "it is there")
        self.b.js("[...document.querySelectorAll('.events a')].find((a) => a.innerText === arguments[0]).click()", task)
        self.b.sees(task, ".task-head")

    def test_what_is_missing_is_said(self):
        self.open("events")
        self.b.until(lambda: self.b.js("return document.querySelector('.empty:not([hidden]), .event-row') !== null"), "it has begun")
        done = lambda: next((q["done"] for q in self.client.call("queue.list") if q["method"] == "hash"), 0)
        before = done()
        for _ in range(8):
            self.client.call("task.submit_many", [["hash", ["sha256", "x"]]] * 1000, {"durable": "none"})
        self.b.sees("passed over", ".events .gap")
        self.assertLessEqual(self.b.js("return document.querySelector('.events').children.length"), 500)
        self.b.shot("events-gap")
        self.b.until(lambda: done() - before == 8000, "all have ended")
        ends = []

        def is_shown():
            """One may be among those that are passed over, and then the next is not."""
            if ends and set(ends) & {id for _, _, id in self.rows()}:
                return True
            ends.append(self.submit("sum", [1]))
            return False
        self.b.until(is_shown, "and then it is up to date again")


class Task(PageTest):
    def test_its_end_is_shown_as_it_comes(self):
        hold = self.client.call("sem.acquire", "end-of-it", {"of": 1})
        task = self.submit("sum", [1, 2], {"limit": {"key": "end-of-it", "max": 1}})
        self.open("task/" + task)
        self.b.sees("waiting", ".task-head")
        self.client.call("sem.release", "end-of-it", hold["hold"])
        self.b.sees("done", ".task-head")
        self.b.sees("3", '[aria-label="Result"] .value')

    def test_it_follows_this_task_alone(self):
        task = self.submit("sum", [1, 2], {"key": "k"})
        self.client.call("task.wait", task)
        self.open("overview")
        self.b.js("window.bodies = []; const was = window.fetch; window.fetch = (url, options) => { bodies.push(options?.body); return was(url, options); };")
        self.open("task/" + task)
        self.b.sees("done", ".task-head")
        followed = lambda: [f for f in map(lambda body: json.loads(body or "{}").get("follow"), self.b.js("return bodies")) if f]
        self.b.until(lambda: followed(), "the feed is followed")
        self.assertEqual([{k: v for k, v in f.items() if k != "mark"} for f in followed()], [{"id": task}])
        self.client.call("task.forget", task)
        self.b.sees("There is no task", "main .said")

    def test_attempts_history_and_result(self):
        task = self.submit("flaky", [3], {"retries": 5, "backoff": "1ms", "key": "invoice-77"})
        self.client.call("task.wait", task)
        self.open("task/" + task)
        self.b.sees("It is done after attempt 3.", ".why")
        self.assertEqual(self.b.js("return [...document.querySelectorAll('table[aria-label=Attempts] .badge')].map((b) => b.textContent)"),
                         ["done", "failed", "failed"])
        self.b.sees("FLAKY: attempt 1 fails", ".history")
        self.b.sees("invoice-77", ".facts")
        self.b.sees("3", '[aria-label="Result"] .value')
        self.b.shot("task")

    def test_results_of_each_kind(self):
        value = {"text": "a\nb", "list": [1, 2.5, None, True], "bytes": b"\x00\xffz", "large": 2**60 + 1, "deep": {"a": {"b": {"c": 1}}}}
        task = self.submit("echo", [value])
        self.client.call("task.wait", task)
        self.open("task/" + task)
        for part in ('"a\\nb"', "2.5", "nil", "true", "3 B: 00ff7a", str(2**60 + 1)):
            self.b.sees(part, ".value")
        long = self.submit("echo", [["x" * 10000] * 500], {"keep_size": "64m"})
        self.client.call("task.wait", [long], {"result": False})
        self.open("task/" + long)
        self.b.sees("500 entries", ".value")
        self.b.sees("300 entries more", ".value")
        self.b.sees("6,000 characters more", ".value")
        huge = self.submit("echo", ["x" * (9 << 20)], {"keep_size": "64m"})
        self.client.call("task.wait", [huge], {"result": False})
        self.open("task/" + huge)
        self.b.sees("too large for this page", '[aria-label="Result"]')
        cut = self.submit("echo", ["x" * 1000], {"keep_size": 10})
        self.client.call("task.wait", cut)
        self.open("task/" + cut)
        self.b.sees("larger than what is kept", '[aria-label="Result"]')

    def test_ticks_of_a_chart_differ(self):
        self.open("charts")
        self.b.sees("Plain calls a second", "main")
        alike = self.b.driver.execute_async_script("""const done = arguments[0]; import('/chart.js').then(({ UNITS, STEPS }) => done(
            ['count', 'rate', '%', 'bytes', 'bytes/s', 's'].flatMap((unit) => STEPS[unit].slice(0, 12).map((step) => [0, 1, 2, 3, 4, 5].map((n) => UNITS[unit](n * step))))
                .filter((labels) => new Set(labels).size < labels.length)))""")
        self.assertEqual(alike, [])

    def test_progress(self):
        task = self.submit("progress", [100000, "20ms"])
        self.open("task/" + task)
        self.b.sees("of 100 k", ".progress")
        self.b.shot("task-progress")
        self.client.call("task.cancel", task)
        self.b.sees("cancelled", ".task-head")
        self.b.sees("last reported:", ".progress")
        self.assertIsNone(self.b.js("return document.querySelector('main progress')"), "no bar of a task that has ended")

    def test_cancel_then_retry_then_forget(self):
        task = self.submit("sleep", ["1h"])
        self.open("task/" + task)
        self.b.click("Cancel", ".heading")
        self.b.agree()
        self.told("is cancelled.")
        self.client.call("task.wait", task)
        self.assertEqual(self.state(task), "cancelled")
        self.b.click("Retry", ".heading")
        self.told("is queued again.")
        self.assertNotEqual(self.state(task), "cancelled")
        self.b.click("Cancel", ".heading")
        self.b.agree()
        self.client.call("task.wait", task)
        self.b.click("Delete", ".heading")
        self.b.agree()
        self.told("is deleted.")
        with self.refused("NOT_FOUND"):
            self.client.call("task.get", task)

    def test_kick_and_priority(self):
        task = self.submit("sum", [2, 3], {"delay": "1h"})
        self.open("task/" + task)
        self.b.find(".heading select").send_keys("priority 9")
        self.b.click("Set", ".heading")
        self.told("has priority 9.")
        self.assertEqual(self.client.call("task.get", task)["priority"], 9)
        self.b.click("Run now", ".heading")
        self.told("waits for its time no more.")
        self.client.call("task.wait", task)
        self.assertEqual(self.state(task), "done")
        self.b.sees("5", '[aria-label="Result"] .value')

    def test_why_it_waits(self):
        first = self.submit("sleep", ["1h"], {"limit": {"key": "gpu", "max": 1}})
        second = self.submit("sleep", ["1h"], {"limit": {"key": "gpu", "max": 1}})
        self.addCleanup(self.client.call, "task.cancel", {"method": "sleep"})
        self.open("task/" + second)
        self.b.sees('"gpu"', ".why")
        self.b.sees(first, ".others")
        self.b.press(".others a")
        self.b.sees(first, ".task-head")

    def test_one_that_is_not_there(self):
        self.open("tasks")
        self.b.js("location.hash = '#/task/t0000000000001'")
        self.b.sees("There is no task t0000000000001", "main")


class Contents(PageTest):
    """Parameters of tasks: shown, hidden, searched, edited."""

    PARAMS = [{"name": "a", "big": 2**60 + 1, "float": 1.0}, b"\x89PNG", None]

    def ids(self):
        return self.b.js("return [...document.querySelectorAll('main table[aria-label=Tasks] tbody tr')].map((r) => r.dataset.key)")

    def test_parameters_of_a_task(self):
        task = self.submit("echo", self.PARAMS)
        self.open("task/" + task)
        self.b.sees("1152921504606846977", ".params pre")
        self.b.sees("h'89504e47' (4 bytes)", ".params pre")
        self.assertTrue(self.b.js("return document.querySelector('.params').open && [...document.querySelectorAll('.params button')][0].hidden"), "few are shown, and all of them")
        long = self.submit("hash", ["sha256", "the end of it: " + "x" * 20000 + " is here"])
        self.open("task/" + long)
        self.b.until(lambda: self.b.js("return document.querySelector('.params') && !document.querySelector('.params').open"), "many are folded")
        self.b.press(".params summary")
        self.b.sees("…", ".params pre")
        self.assertLess(len(self.b.text(".params pre")), 4200)
        self.b.shot("task-parameters")
        self.b.click("Show all", ".params")
        self.b.until(lambda: "is here" in self.b.text(".params pre") and len(self.b.text(".params pre")) > 20000, "all of them")
        self.assertEqual(self.b.js("return document.activeElement.tagName"), "PRE", "the keyboard can scroll them")

    def fails(self, trace, **more):
        """A task whose two attempts fail on a worker of a hostile name, with a traceback."""
        with self.server.connect() as worker:
            worker.call("worker.register", ["resize"], {"name": BAD[:64], "version": "1.4.2", "host": "img-7.example", **more})
            task = self.submit("resize", ["a.jpg"], {"retries": 1, "backoff": "1ms"})
            for _ in range(2):
                _, call, method, _ = worker.receive()
                self.assertEqual(method, "resize")
                worker.send_bytes(msgpack.packb([1, call, {"code": "OOPS", "message": "the disk is full", "traceback": trace}, None]))
            self.client.call("task.wait", task)
        return task

    def test_attempts_say_who_ran_them_and_where_they_failed(self):
        task = self.fails('Traceback (most recent call last):\n  File "resize.py", line 7, in resize\n    raise ' + BAD + "\nOSError: full\n" + "x" * 300)
        self.open("task/" + task)
        rows = lambda: self.b.js("return [...document.querySelectorAll('table[aria-label=Attempts] tbody tr')].map((r) => [...r.cells].map((c) => c.innerText))")
        self.b.until(lambda: len(rows()) == 2, "two attempts")
        for n, row in zip((2, 1), rows()):
            self.assertEqual(row[:2] + row[3:5], [str(n), "failed", "img-7.example", "1.4.2"])
            self.assertTrue(row[2].startswith(BAD[:64].strip()), row[2])
            self.assertRegex(row[5] + row[6], "^[0-9.]+ (µs|ms|s).*(µs|ms|s)$")
            self.assertTrue(row[8].startswith("OOPS: the disk is full"), row[8])
        opened = "return [...document.querySelectorAll('.traceback')].map((d) => d.open)"
        self.assertEqual(set(self.b.js(opened)), {False}, "they are folded")
        self.b.press('table[aria-label="Attempts"] .traceback summary')
        self.b.sees('File "resize.py", line 7, in resize', 'table[aria-label="Attempts"] .traceback pre')
        self.b.sees(BAD, 'table[aria-label="Attempts"] .traceback pre')
        self.b.shot("task-traceback")
        wide = self.b.js("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(wide[0], wide[1])
        self.b.js("document.querySelector('.history .traceback').open = true")
        self.b.sees("OSError: full", ".history")
        self.open("events?method=resize")
        self.b.until(lambda: self.b.js("return document.querySelectorAll('.event-row .traceback').length") > 0, "the feed has it")
        self.b.press(".event-row .traceback summary")
        self.b.sees(BAD, ".event-row .traceback pre")
        self.b.shot("events-traceback")
        self.assertEqual(self.b.js("return document.querySelectorAll('main img, main script').length"), 0)
        self.assertIsNone(self.b.js("return window.pwned ?? null"))

    def test_parameters_that_are_secret(self):
        with self.server.connect() as worker:
            worker.call("worker.register", ["pay"], {"secret": True})
            task = self.submit("pay", ["4000-0000"])
            self.open("task/" + task)
            self.b.sees("keeps its parameters secret", '[aria-label="Parameters"]')
            self.assertNotIn("4000-0000", self.b.text("main"))
            self.b.click("Submit again", ".heading")
            self.b.sees("Those of the task are hidden.", "dialog")
            self.assertEqual(self.b.js("return document.querySelector('dialog textarea').value"), "[]")
            self.b.keys("ESCAPE")
            self.open("queues/pay")
            self.b.sees("parameters secret", ".heading")
        self.client.call("task.cancel", task)

    def test_search_by_a_text_of_the_parameters(self):
        found = [self.submit("echo", [{"customer": 'says "needle" twice', "n": n}]) for n in range(2)]
        other = self.submit("echo", ["hay"])
        self.client.call("task.wait", [*found, other])
        self.open("tasks")
        self.b.until(lambda: {*found, other} <= set(self.ids()), "all are listed")
        self.assertNotIn("needle", self.b.text("main tbody"))
        field = self.b.find("#search")
        field.send_keys('contains:"says \\"needle\\""\n')
        self.b.until(lambda: self.ids() == found[::-1], "those alone that contain it")
        self.b.sees("needle", "main tbody")
        self.b.shot("tasks-contains")
        self.assertTrue(self.b.js("return [...document.querySelectorAll('.selection button')].find((b) => b.innerText === 'Select all that match').disabled"), "no filter of task.cancel means it")
        self.b.driver.refresh()
        self.b.until(lambda: self.ids() == found[::-1], "the address keeps it")
        self.assertEqual(self.b.js("return document.querySelector('#search').value"), 'contains:"says \\"needle\\""')
        self.open("tasks")
        self.b.until(lambda: other in self.ids(), "all again")
        self.b.press(".above > label input")
        self.b.sees('"hay"', "main tbody")

    def test_a_search_that_goes_on_says_how_far_it_is(self):
        task = self.submit("echo", ["at the very end"])
        self.open("tasks")
        self.b.until(lambda: task in self.ids(), "it is listed")
        # As a server with very many tasks: pages without tasks, until it is told to go on.
        self.b.js("""window.was = window.fetch; window.go = false;
            window.fetch = async (url, options) => {
                const { method, params } = JSON.parse(options?.body ?? '{}');
                if (method !== 'task.list' || !params[0].contains) return window.was(url, options);
                await new Promise((done) => setTimeout(done, 5));
                return window.go ? window.was(url, { ...options, body: JSON.stringify({ method, params: [{ ...params[0], cursor: undefined }] }) })
                    : new Response(JSON.stringify({ result: { tasks: [], next: 'more' } }), { status: 200 });
            };""")
        self.addCleanup(self.b.js, "window.fetch = window.was ?? window.fetch")
        self.b.find("#search").send_keys("contains:end\n")
        self.b.sees("searching …", ".pager")
        self.b.sees("of up to 10,000 tasks looked at, 0 found", ".pager")
        self.b.click("Stop", ".pager")
        self.b.sees("none so far; “Older” looks at more", ".pager")
        self.b.js("window.go = true")
        self.b.click("Older", ".pager")
        self.b.until(lambda: self.ids() == [task], "and there it is")

    def test_submitted_again_edited(self):
        task = self.submit("echo", self.PARAMS, {"key": "order-7", "priority": 7})
        self.client.call("task.wait", task)
        self.open("task/" + task)
        self.b.click("Submit again", ".heading")
        self.b.sees("The key order-7 is left out", "dialog")
        self.b.shot("again")
        fields = lambda: self.b.js("return [...document.querySelectorAll('dialog input, dialog textarea')].map((e) => e.value)")
        self.assertEqual(fields()[0], "echo")
        self.assertEqual(fields()[1], '[{"name": "a", "big": 1152921504606846977, "float": 1.0}, {"$bin": "iVBORw=="}, null]')
        self.assertEqual(json.loads(fields()[2])["priority"], 7)
        self.assertNotIn("key", json.loads(fields()[2]))
        self.assertEqual(self.b.js("return document.activeElement.tagName"), "TEXTAREA")
        write = lambda n, text: self.b.js("document.querySelectorAll('dialog input, dialog textarea')[arguments[0]].value = arguments[1]", n, text)
        wrong = lambda: self.b.js("return [...document.querySelectorAll('dialog .wrong')].map((e) => e.innerText).filter(Boolean)")
        write(1, "[1, 2")
        self.b.click("Submit", "dialog")
        self.b.sees("This is not JSON", "dialog")
        self.assertEqual(self.b.js("return document.activeElement.getAttribute('aria-invalid')"), "true")
        self.b.shot("again-wrong")
        write(1, "{}")
        self.b.click("Submit", "dialog")
        self.b.sees("This must be an array", "dialog")
        write(1, '[{"name": "b", "big": 1152921504606846979, "float": 2.0}, {"$bin": "iVBORw=="}, 18014398509481985]')
        write(2, '{"colour": "red"}')
        self.b.click("Submit", "dialog")
        self.b.sees('unknown option "colour"', "dialog")
        self.assertEqual(len(wrong()), 1)
        write(2, '{"key": "order-7"}')
        self.b.click("Submit", "dialog")
        self.b.sees(f"Nothing was submitted: the task {task} has this key.", "dialog")
        write(2, '{"key": "order-8", "timeout": "30s"}')
        self.b.click("Submit", "dialog")
        self.b.sees("Submitted as t", "#toasts")
        self.b.until(lambda: self.b.js("return !document.querySelector('dialog') && !location.hash.endsWith(arguments[0])", task), "the new task is shown")
        new = self.b.js("return location.hash").split("/")[-1]
        self.b.sees(new, ".task-head")
        done = self.client.call("task.wait", new)["ended"][0]
        self.assertEqual(done["result"], [{"name": "b", "big": 2**60 + 3, "float": 2.0}, b"\x89PNG", 2**54 + 1])
        self.assertIsInstance(done["result"][0]["float"], float)
        self.assertEqual(done["key"], "order-8")

    def test_what_a_task_was_given_is_text(self):
        for task in (self.submit("echo", [BAD, {BAD: BAD.encode()}]), self.submit("echo", [BAD * 100])):
            self.open("task/" + task)
            self.b.sees("done", ".task-head")
            self.b.js("document.querySelector('.params')?.setAttribute('open', '')")
            self.b.until(lambda: "onerror" in self.b.text(".params pre"), "the text itself")
            self.b.click("Submit again", ".heading")
            self.b.until(lambda: "onerror" in self.b.js("return document.querySelector('dialog textarea')?.value ?? ''"), "in the form, too")
            self.b.keys("ESCAPE")
        self.b.click("Show all", ".params")
        self.b.until(lambda: len(self.b.text(".params pre")) >= 100 * len(BAD), "all of them")
        self.assertEqual(self.b.js("return document.querySelectorAll('main img, main script, dialog img').length"), 0)
        self.open("tasks?contains=onerror")
        self.b.until(lambda: "onerror" in self.b.text("main tbody"), "in the list")
        self.assertEqual(self.b.js("return document.querySelectorAll('main img, main script, dialog img').length"), 0)
        self.assertIsNone(self.b.js("return window.pwned ?? null"))


class Others(PageTest):
    """Workers, crons, semaphores, connections."""

    def test_workers(self):
        with self.server.connect() as worker:
            name = worker.call("worker.register", ["resize", "thumbnail"], {"slots": 4, "name": "img-1", "version": "1.4.2"})["worker"]
            task = self.submit("resize", ["a.jpg"])
            self.open("workers")
            row = self.row(name)
            for text in ("img-1", "resize, thumbnail", "1/4", task):
                self.b.sees(text, row)
            self.b.shot("workers")
            state = lambda: self.client.call("worker.list")["workers"][0]["state"]
            self.b.click("Quiet", row)
            self.told("is given nothing more.")
            self.assertEqual(state(), "quiet")
            self.b.click("Resume", row)
            self.told("works again.")
            self.assertEqual(state(), "open")
        self.b.sees("No worker is registered", "main")
        self.client.call("task.cancel", task)

    def test_crons(self):
        self.client.call("cron.put", "nightly", "0 3 * * *", "echo", ["report"], {"zone": "Europe/Berlin"})
        self.client.call("cron.put", "yearly", "@yearly", "echo", [], {})
        self.open("crons")
        self.b.sees("nightly", "main")
        self.b.sees("Europe/Berlin", "main")
        self.b.shot("crons")
        state = lambda: {c["name"]: c["paused"] for c in self.client.call("cron.list")}
        self.b.click("Pause", self.row('["anybody","nightly"]'))
        self.told("The cron nightly is paused.")
        self.assertEqual(state(), {"nightly": True, "yearly": False})
        self.b.sees("paused", self.row('["anybody","nightly"]'))
        self.b.shot("crons-paused")
        self.b.click("Resume", self.row('["anybody","nightly"]'))
        self.told("The cron nightly comes again")
        self.assertEqual(state(), {"nightly": False, "yearly": False})
        self.b.click("Run now", self.row('["anybody","nightly"]'))
        self.b.sees("The cron nightly has submitted t", "#toasts")
        task = self.b.text("#toasts a")
        self.assertEqual(self.client.call("task.wait", task)["ended"][0]["result"], "report")
        self.told("The cron nightly has submitted")
        self.b.click("Delete", self.row('["anybody","nightly"]'))
        self.b.sees("Delete the cron nightly?", "dialog")
        self.b.agree()
        self.told("The cron nightly is deleted.")
        self.assertEqual([c["name"] for c in self.client.call("cron.list")], ["yearly"])
        self.client.call("cron.delete", "yearly")

    def test_semaphores(self):
        self.client.call("sem.create", "licences", 2)
        with self.server.connect() as holder, self.server.connect() as waiter:
            hold = holder.call("sem.acquire", "licences", {"permits": 2, "ttl": "1h"})
            waiter.send("sem.acquire", "licences", {"wait": "1h"})
            self.open("semaphores")
            self.b.sees("2/2", self.row('["anybody","licences"]'))
            self.b.press(self.row('["anybody","licences"]') + " a")
            self.b.sees(str(hold["fence"]), 'table[aria-label="Holders"]')
            self.b.sees("connected", 'table[aria-label="Holders"]')
            self.b.sees("1.", 'table[aria-label="Waiters"]')
            self.b.shot("semaphores")
            task = self.submit("sleep", ["1h"], {"limit": {"key": "licences", "max": 2}})
            self.b.click("Take back", 'table[aria-label="Holders"]')
            self.b.sees("Take 2 permits of licences back from address:127.0.0.1?", "dialog")
            self.b.shot("semaphores-ask")
            self.b.click("Leave them there", "dialog")
            self.assertEqual(len(self.client.call("sem.explain", "licences")["waiters"]), 2, "nothing is done before it is agreed")
            self.b.click("Take back", 'table[aria-label="Holders"]')
            self.b.agree()
            self.told("2 permits of address:127.0.0.1 are taken back.")
            with self.refused("FENCED"):
                holder.call("sem.renew", "licences", hold["hold"])
            self.b.sees("a task’s", 'table[aria-label="Holders"]')
            self.b.sees(task, 'table[aria-label="Holders"]')
            self.client.call("task.cancel", task)
        self.client.call("sem.create", "spare", 1)
        self.open("semaphores")
        self.b.click("Delete", self.row('["anybody","spare"]'))
        self.b.agree()
        self.told("The semaphore spare is deleted.")
        self.assertNotIn("spare", [s["name"] for s in self.client.call("sem.list")])
        self.client.call("sem.delete", "licences")

    def test_connections(self):
        with self.server.connect() as victim:
            victim.call("echo", 1)
            self.open("connections")
            peer = "%s:%d" % victim.sock.getsockname()
            mine = next(c["id"] for c in self.client.call("connection.list")["connections"] if c["peer"] == peer)
            self.b.sees(peer, self.row(mine))
            self.b.shot("connections")
            field = self.b.find(".search input")
            field.send_keys(peer, "\n")
            self.b.until(lambda: self.b.js("return document.querySelectorAll('main tbody tr').length") == 1, "one connection of this address")
            self.b.click("Kill", self.row(mine))
            self.b.agree()
            self.told("1 connection closed.")
            self.assertTrue(victim.at_end())


class Actors(PageTest):
    """10,000 actors, by pages; one, with a name and a state that are markup, and what can be done about it."""

    def names(self):
        return self.b.js("return [...document.querySelectorAll('main table[aria-label=Actors] tbody tr')].map((r) => JSON.parse(r.dataset.key)[1])")

    def actor(self, name):
        return self.client.call("actor.get", name)

    def test_actors(self):
        names = [f"counter/{n:05}" for n in range(10000)]
        for at in range(0, len(names), 1000):
            self.client.call("task.submit_many", [["counter.add", [1], {"actor": name, "durable": "none"}] for name in names[at:at + 1000]])
        bad = "twin/" + BAD
        with Worker(self.server, "twin.put", context=True, actors={"twin": {}}) as worker:
            tasks = [self.client.call("actor.tell", bad, "put", [BAD], {"keep": "1h", "timeout": "1h"})["id"] for _ in range(2)]
            worker.serve(lambda *_: [None, {"state": {BAD: [BAD, 2**60 + 1]}}])
            self.pages(names)
            self.one(bad, tasks, worker)
        self.assertIsNone(self.b.js("return window.pwned ?? null"))

    def pages(self, names):
        self.open("actors")
        self.b.until(lambda: self.names() == names[:100], "the first hundred, by name")
        self.b.sees("10 k", self.row("counter"))  # of the types
        self.b.sees("10 k", "nav [data-view=actors]")
        for page in 1, 2:
            self.b.click("Next", ".pager")
            self.b.until(lambda: self.names() == names[100 * page:100 * page + 100], "the next hundred")
        self.b.keys("[")
        self.b.until(lambda: self.names() == names[100:200], "the page before, by a key")
        self.b.find("[name=prefix]").send_keys("counter/0999\n")
        self.b.until(lambda: self.names() == names[9990:], "the last ten, by their names' begin")
        self.b.shot("actors")
        self.b.press(self.row("twin") + " a")
        self.b.until(lambda: self.names() == ["twin/" + BAD], "those of a type")
        self.b.click_link("twin/<img", "main")

    def one(self, bad, tasks, worker):
        """`worker` has the second of the messages."""
        self.b.sees(f"is active: twin.put ({tasks[1]})", ".why")
        state = '[aria-label="State"]'
        self.b.until(lambda: self.b.text(state).replace("\\", "").count("window.pwned=1") == 4, "the state as text")
        self.b.sees(str(2**60 + 1), state)
        self.assertEqual(self.b.js("return document.querySelectorAll('main img, main script, main iframe').length"), 0)
        self.b.sees("done", self.row(tasks[0]))
        self.b.shot("actor")
        self.b.find(".heading input").send_keys(BAD)
        self.b.click("Stop", ".heading")
        self.assertEqual(self.actor(bad)["stage"], "active", "nothing is done before it is agreed")
        self.b.agree()
        self.told(" is stopped.")
        self.assertEqual(self.actor(bad)["stopped"], BAD)
        self.b.sees(BAD, ".why")
        worker.serve(lambda *_: [None, {"state": 2}])
        self.b.until(lambda: self.b.text(state + " .value") == "2", "a new state is shown")
        self.b.click("Start", ".heading")
        self.told(" is started: it is sleeping.")
        self.b.click_link(tasks[1], "main")
        self.b.sees(tasks[1], ".task-head")
        self.b.click_link("twin/", ".facts")  # a message leads to its actor
        self.b.click("Drop", ".heading")
        self.b.agree()
        self.told(" is dropped.")
        self.b.sees("There is no actor twin/", "main .said")
        with self.refused("NOT_FOUND"):
            self.actor(bad)
        self.open("events?event=actor_stopped")
        self.b.sees(bad, ".events a.id")
        self.client.call("actor.call", "ticker/t", "start", [2, "1h"])
        harness.eventually(lambda: self.actor("ticker/t")["next"], "it sleeps")
        self.client.call("actor.remind", "ticker/t", BAD, "start", [2, "1h"], {"in": "2h", "every": "1h"})
        self.open("actor/ticker%2Ft")
        self.b.sees("ticker.start", self.row(BAD))
        self.b.sees("in ", self.row(BAD))
        self.b.click("Forget", self.row(BAD))
        self.b.agree()
        self.told(" is forgotten.")
        self.assertEqual(self.actor("ticker/t")["reminders"], [])
        self.b.click("Wake", ".heading")
        self.told("ticker/t is ")
        harness.eventually(lambda: self.actor("ticker/t")["state"][0] == 0, "it has counted down")


class Composed(PageTest):
    """Batches, and what a task takes from others and leaves for its next attempt."""

    def batches(self):
        return self.b.js("return [...document.querySelectorAll('main table[aria-label=Batches] tbody tr')].map((r) => r.dataset.key)")

    def batch(self, **options):
        return self.client.call("batch.create", options)["id"]

    def test_batches(self):
        batches = [self.batch() for _ in range(3)]
        self.client.call("batch.close", batches[0])
        self.open("batches")
        self.b.until(lambda: self.batches()[:3] == batches[::-1], "the newest first")
        self.b.sees("done", self.row(batches[0]))
        self.b.find("[name=state]").send_keys("open")
        self.b.until(lambda: self.batches() == batches[:0:-1], "those that are open")
        self.b.click("Close", self.row(batches[1]))
        self.told(" is ")
        self.b.until(lambda: self.batches() == [batches[2]], "it is open no more")
        self.b.click("Cancel", self.row(batches[2]))
        self.b.agree()
        self.told(" is ")
        self.b.find("[name=state]").send_keys("any")
        self.b.sees("cancelled", self.row(batches[2]))
        self.open("batches?tenant=nobodys")
        self.b.sees("No batch matches", "main")

    def test_one_batch(self):
        outer = self.batch()
        batch = self.batch(parent=outer, on_failure=["echo", [BAD]], on_success=["echo", []], on_end=["sum", [1, 2]])
        tasks = [t["id"] for t in self.client.call("batch.add", batch, [["echo", [1]], ["fail", ["OOPS", "as it is"]], ["echo", [2], {"delay": "1h"}]])]
        self.client.call("task.wait", tasks[:2])
        self.open("batch/" + batch)
        self.b.sees("2 of 3 members ended", ".progress")
        self.b.sees("on_failure", '[aria-label="What follows"]')
        failure = self.client.call("batch.get", batch)["on_failure"]["task"]
        self.b.sees(failure, self.row("on_failure"))
        self.b.sees("not yet", self.row("on_end"))
        self.b.sees("delayed", self.row(tasks[2]))
        self.b.shot("batch")
        self.b.click_link("total", "main .chips")
        self.b.until(lambda: self.b.js("return [...document.querySelectorAll('main tbody tr')].map((r) => r.dataset.key)") == tasks[::-1], "its members")
        self.b.click_link(tasks[2], "main")
        self.b.click_link(batch, ".facts")  # a member leads to its batch
        self.b.click("Close", ".heading")
        self.told(" is closed.")
        self.b.click("Cancel", ".heading")
        self.b.agree()
        self.told(" is ")
        self.b.sees("cancelled", ".heading")
        self.b.sees("3 of 3 members ended", ".progress")
        end = self.client.call("batch.get", batch)["on_end"]["task"]
        self.b.sees(end, self.row("on_end"))
        self.b.click_link(end, self.row("on_end"))
        self.b.sees(end, ".task-head")
        self.b.click_link(batch, ".facts")  # what follows leads to its batch, too
        self.b.click_link(outer, ".facts")
        self.b.sees("1 of 1 member ended", ".progress")
        self.b.sees("cancelled", '[aria-label="Batches within it"] ' + self.row(batch))
        self.b.shot("batch-outer")
        self.open("batch/b0000000000001")
        self.b.sees("There is no batch b0000000000001", "main .said")

    def test_what_a_task_takes_and_who_waits_for_it(self):
        first = self.submit("echo", [7], {"delay": "1h"})
        other = self.submit("echo", [8])
        second = self.submit("sum", [{"$result": first}, 1], {"after": first, "after_any": other})
        self.open("task/" + first)
        self.b.sees("wait for its end: " + second, ".others")
        self.b.click_link(second, ".others")
        self.b.sees(first + " its result is a parameter", ".facts")
        self.b.sees(other, ".facts")
        self.assertNotIn(other + " its result", self.b.text(".facts"))
        self.b.shot("task-composed")
        self.client.call("task.run_now", first)
        self.b.sees("8", '[aria-label="Result"] .value')
        self.assertIn(first, self.b.text(".facts"), "it is said after the end, too")

    def test_a_checkpoint(self):
        with Worker(self.server, "crawl", context=True) as worker:
            task = self.submit("crawl", [], {"retries": 1, "backoff": "1h"})
            number = worker.take()[0]
            self.open("task/" + task)
            self.b.sees("running", ".task-head")
            self.assertNotIn("Checkpoint", self.b.text("main"))
            worker.notify("worker.checkpoint", number, {BAD: 12345})
            card = '[aria-label="Checkpoint"]'
            self.b.sees(" B", card)
            self.assertNotIn("12345", self.b.text(card), "nothing is asked for that nobody looks at")
            self.b.press(card + " summary")
            self.b.sees("12345", card)
            worker.notify("worker.checkpoint", number, 54321)
            self.b.sees("54321", card)
            self.b.shot("task-checkpoint")
            worker.answer(number, 1)
            self.b.sees("done", ".task-head")
            self.b.sees_not("Checkpoint", "main")


class Hostile(PageTest):
    def test_names_errors_and_results_are_text(self):
        c = self.client
        tasks = [self.submit("fail", ["BAD", BAD], {"key": BAD}), self.submit("echo", [{BAD: [BAD, BAD.encode()]}], {"key": "k" + BAD})]
        c.call("task.wait", tasks)
        c.call("cron.put", BAD, "@yearly", "echo", [BAD], {})
        self.addCleanup(c.call, "cron.delete", BAD)
        c.call("sem.create", BAD, 1)
        self.addCleanup(c.call, "sem.delete", BAD)
        with self.server.connect() as holder, self.server.connect() as worker:
            holder.call("sem.acquire", BAD, {})
            worker.call("worker.register", ["pixels"], {"name": BAD[:64], "version": BAD[:32]})
            self.open("overview")
            for view in (*VIEWS, "semaphores/" + BAD.replace("/", "%2F").replace("#", "%23").replace("?", "%3F"), *("task/" + t for t in tasks)):
                self.b.js("location.hash = arguments[0]", "#/" + view)
                want = {"tasks": BAD, "crons": BAD, "semaphores": BAD, "workers": BAD[:64]}.get(view)
                if view.startswith(("task/", "semaphores/")):
                    want = BAD
                if want:
                    self.b.until(lambda: want.replace('"', "") in self.b.text("main").replace('\\"', "").replace('"', ""), f"the text itself in {view}")
                self.assertEqual(self.b.js("return document.querySelectorAll('main img, main script, main iframe').length"), 0, view)
            self.b.shot("hostile")
            # The delete button asks with the name in the question.
            self.open("crons")
            self.b.click("Delete", "main")
            self.b.sees("onerror", "dialog")
            self.b.click("Keep it", "dialog")
            # As conditions in an address, and of events.
            for address in ("events?method=" + BAD, "methods/" + BAD, "semaphores/a?tenant=" + BAD, "tasks?key=" + BAD):
                self.b.js("location.hash = arguments[0]", "#/" + address.replace("#", "%23"))
                self.b.find("main h1")
                self.assertEqual(self.b.js("return document.querySelectorAll('main img, main script, main iframe').length"), 0, address)
            self.b.js("location.hash = '#/events'")
            self.b.until(lambda: BAD in self.b.text(".events"), "the text itself among the events")
        self.assertIsNone(self.b.js("return window.pwned ?? null"))

    def test_characters_that_are_not_seen_are_written_out(self):
        names = {"turned \u202elive": "turned \\u202elive", "in\u200bvisible": "in\\u200bvisible", "bell\a": "bell\\u0007"}
        for name in names:
            self.client.call("cron.put", name, "@yearly", "echo", [], {})
            self.addCleanup(self.client.call, "cron.delete", name)
        self.open("crons")
        for name, shown in names.items():
            self.b.sees(shown, "main")
            self.assertNotIn(name, self.b.text("main"))
            self.b.click("Delete", self.row(f'["anybody","{name}"]') if "\a" not in name else "main")
            self.b.sees("Delete the cron", "dialog")
            self.b.click("Keep it", "dialog")

    def test_a_name_that_is_long_leaves_room_for_the_others(self):
        self.b.size(1280, 800)
        long = "w" * 190
        self.client.call("cron.put", long, "@yearly", "echo", [], {})
        self.addCleanup(self.client.call, "cron.delete", long)
        self.client.call("sem.create", long, 1)
        self.addCleanup(self.client.call, "sem.delete", long)
        for view in ("crons", "semaphores"):
            self.open(view)
            self.b.sees(long, "main")
            self.b.until(lambda: self.b.js("""const cells = [...document.querySelectorAll('main tbody tr button')];
                return cells.length > 0 && cells.every((c) => c.getBoundingClientRect().right <= innerWidth)"""), f"each button of {view} is in sight")
            self.assertEqual(self.b.js("return document.querySelector('main td.id').title"), long)

    def test_a_worker_of_many_methods_has_a_row_of_some_lines(self):
        with self.server.connect() as worker:
            worker.call("worker.register", [f"method.{n:03}" for n in range(100)], {})
            self.open("workers")
            self.b.sees("method.005 and 94 more", "main")
            self.assertLess(self.b.js("return document.querySelector('main tbody tr').getBoundingClientRect().height"), 250)

    def test_what_breaks_the_policy_is_noticed(self):
        self.open("overview")
        self.b.js("const s = document.createElement('script'); s.textContent = 'window.pwned = 2'; document.body.append(s);"
                  "document.body.setAttribute('style', 'color: red')")
        self.assertIsNone(self.b.js("return window.pwned ?? null"))
        self.b.until(lambda: len(self.b.complaints()) >= 1, "the console has a violation")

    def test_an_address_that_is_none(self):
        self.open("overview")
        self.b.js("location.hash = arguments[0]", "#/" + BAD)
        self.b.sees("There is no view", "main")
        self.b.js("location.hash = arguments[0]", "#/task/%E0%A4%A")
        self.b.sees("There is no task", "main")
        self.assertIsNone(self.b.js("return window.pwned ?? null"))


class Keyboard(PageTest):
    def hash(self):
        return self.b.js("return location.hash")

    def test_places_lists_search_and_help(self):
        tasks = [self.submit("echo", [n]) for n in range(3)]
        self.client.call("task.wait", tasks)
        self.open("overview")
        for key, name in (("q", "queues"), ("m", "methods"), ("e", "events"), ("b", "batches"), ("a", "actors"), ("w", "workers"), ("c", "crons"), ("s", "semaphores"), ("n", "connections"), ("r", "charts"),
                          ("o", "overview"), ("t", "tasks")):
            self.b.keys("g" + key)  # at once: the second has to come soon after the first
            self.b.until(lambda: self.b.js("return document.querySelector('nav a[aria-current]').dataset.view") == name, f"g {key} leads to {name}")
            self.assertEqual(self.hash(), "#/" + name)
        rows = lambda: self.b.js("return [...document.querySelectorAll('main tbody tr')].map((r) => r.dataset.key)")
        at = lambda: self.b.js("return document.activeElement.dataset.key ?? null")
        self.b.until(lambda: set(rows()) >= set(tasks), "the tasks are listed")
        self.b.keys("ARROW_DOWN")
        self.b.until(lambda: at() == rows()[0], "the first row has the focus")
        self.b.keys("ARROW_DOWN", "j", "k")
        self.b.until(lambda: at() == rows()[1], "the second row has it")
        outline = self.b.js("const s = getComputedStyle(document.activeElement); return s.outlineStyle !== 'none' || s.boxShadow !== 'none'")
        self.assertTrue(outline, "the focus is visible")
        chosen = at()
        self.b.keys("ENTER")
        self.b.sees(chosen, ".task-head")
        self.assertEqual(self.hash(), "#/task/" + chosen)
        self.b.keys("ESCAPE")
        self.b.sees("Tasks", "main h1")
        self.assertEqual(self.hash(), "#/tasks")
        self.b.keys("/")
        self.b.until(lambda: self.b.js("return document.activeElement.id") == "search", "/ leads to the search")
        self.b.keys("g", "q")
        self.assertEqual(self.b.js("return document.activeElement.value"), "gq", "letters in a field are letters")
        self.b.keys("ESCAPE")
        self.b.keys("?")
        self.b.sees("this help", "dialog[open]")
        self.b.shot("help")
        self.b.keys("ESCAPE")
        self.b.until(lambda: not self.b.js("return document.querySelector('dialog[open]')"), "Escape closes the help")

    def test_no_role_hides_what_an_element_is(self):
        self.open("events")
        self.assertEqual(self.b.js("return [...document.querySelectorAll('button[role], ol[role], ul[role]')].map((e) => e.outerHTML)"), [])

    def test_a_dialog_gives_the_focus_back(self):
        self.open("events")
        focused = lambda: self.b.js("return document.activeElement.className + ' ' + (document.activeElement.name ?? '')")
        self.b.js("document.querySelector('header .who').focus()")
        self.b.keys("ENTER")
        self.b.sees("Your rights", "dialog[open]")
        self.assertTrue(self.b.js("return document.querySelector('dialog').contains(document.activeElement)"))
        self.b.keys("ESCAPE")
        self.b.until(lambda: not self.b.js("return document.querySelector('dialog')"), "Escape closes it")
        self.assertIn("who", focused())
        # By the tabulator: what stands beside the title, then the conditions in their order, then the list.
        self.b.js("document.querySelector('main h1').focus()")
        passed = []
        for _ in range(7):
            self.b.keys("TAB")
            passed.append(self.b.js("const e = document.activeElement; return e.name || e.innerText?.trim().split('\\n')[0] || e.tagName"))
        self.assertEqual(passed, ["Hold", "method", "tenant", "key", "state", "event", "Apply"])

    def test_everything_has_a_name_and_can_be_reached(self):
        self.submit("echo", [1], {"delay": "1h"})
        for view in VIEWS:
            self.open(view)
            nameless = self.b.js("""return [...document.querySelectorAll('button, a[href], input, select, table')]
                .filter((e) => e.checkVisibility() && !(e.getAttribute('aria-label') || e.innerText?.trim() || e.labels?.length || e.title))
                .filter((e) => e.tagName !== 'TABLE' || !e.closest('.u-legend, .uplot')).map((e) => e.outerHTML.slice(0, 200))""")
            self.assertEqual(nameless, [], view)
        self.assertEqual(self.b.js("return document.querySelectorAll('main').length"), 1)
        self.assertEqual(self.b.js("return document.documentElement.lang"), "en")


class Room(PageTest):
    def everywhere(self, width, height, name):
        task = self.submit("fail", ["A_LONG_NAME_OF_AN_ERROR_BUT_ALLOWED", "x" * 400], {"key": "k" * 180})
        self.client.call("cron.put", "a-cron", "@yearly", "echo", [], {})
        self.addCleanup(self.client.call, "cron.delete", "a-cron")
        self.client.call("task.wait", task)
        self.b.size(width, height)
        actor = "counter/" + "k" * 180
        self.client.call("actor.call", actor, "add", [1])
        self.client.call("actor.stop", actor, {"reason": "x" * 150})
        self.addCleanup(self.client.call, "actor.drop", actor)
        batch = self.client.call("batch.create", {"on_end": ["echo", ["x" * 400]]})["id"]
        self.client.call("batch.add", batch, [["echo", [1], {"key": "k" * 100}]])
        for view in (*VIEWS, "batch/" + batch, "task/" + task, "queues/fail", "actor/" + actor.replace("/", "%2F")):
            self.open(view)
            self.b.until(lambda: self.b.js("return document.querySelector('main tbody tr, .plot canvas, .event-row, .empty:not([hidden])') !== null"), f"{view} shows something")
            wide = self.b.js("return [document.documentElement.scrollWidth, innerWidth]")
            self.assertLessEqual(wide[0], wide[1], f"{view} scrolls sideways at {width}")
            self.b.shot(f"{name}-{view.split('/')[0] if view != 'queues/fail' else 'queue'}")

    def test_400_pixels(self):
        self.everywhere(400, 860, "400")
        self.b.click("Menu", "header")
        self.b.press("nav a[data-view=queues]")
        self.b.sees("Queues", "main h1")

    def test_4k(self):
        self.everywhere(3840, 2160, "4k")

    def test_dark_by_system_and_by_choice(self):
        page = lambda: self.b.js("return getComputedStyle(document.documentElement).backgroundColor")
        ink = lambda: self.b.js("return getComputedStyle(document.documentElement).color")
        light = lambda: sum(int(n) for n in page()[4:-1].split(","))
        self.open("overview")
        self.assertGreater(light(), 600)
        self.b.media(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
        self.b.until(lambda: light() < 150, "dark as the system says")
        self.assertNotEqual(page(), ink())
        self.b.shot("dark-overview")
        self.open("tasks")
        self.b.shot("dark-tasks")
        self.b.keys("d")
        self.b.until(lambda: light() > 600, "light by a key")
        self.b.driver.refresh()
        self.b.find("main h1")
        self.b.until(lambda: light() > 600, "the choice is remembered")
        self.b.js("localStorage.clear()")

    def test_texts_can_be_read(self):
        """Contrast of what stands on what, as WCAG counts it: 4.5 and more, in light and in dark."""
        pairs = [("ink", "page"), ("ink", "card"), ("muted", "page"), ("muted", "card"), ("muted", "hover"), ("accent", "card"), ("accent", "mark"), ("on-accent", "accent"), ("bad", "card"),
                 ("good", "good-soft"), ("warn", "warn-soft"), ("warn", "card"), ("bad", "bad-soft"), ("busy", "busy-soft"), ("ink", "soft"), ("muted", "soft"), ("ink", "warn-soft"), ("ink", "raised"), ("muted", "raised")]

        def luminance(colour):
            digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
            parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
            return sum(w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for w, c in zip((0.2126, 0.7152, 0.0722), parts))
        self.open("overview")
        for scheme in ("light", "dark"):
            self.b.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
            self.b.until(lambda: self.b.js("return document.documentElement.dataset.theme") == scheme, f"it is {scheme}")
            colour = lambda name: self.b.js("return getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim()", "--" + name)
            for ink, on in pairs:
                low, high = sorted((luminance(colour(ink)), luminance(colour(on))))
                self.assertGreaterEqual((high + 0.05) / (low + 0.05), 4.5, f"{ink} on {on}, {scheme}")

    def test_nothing_moves_where_that_is_asked(self):
        self.open("overview")
        self.b.media(prefers_color_scheme="light", prefers_reduced_motion="reduce")
        self.assertEqual(self.b.js("return document.getAnimations().length"), 0)


class Rights(PageTest):
    """Where tokens say who may do what."""

    @classmethod
    def setUpClass(cls):
        cls.folder = harness.scratch(cls.addClassCleanup)
        tokens = harness.write_tokens(cls.folder, {"chief": "*,task.any", "reader": "server.info,server.topology,queue.list,task.list,task.get,task.explain,echo"})
        cls.FLAGS = (*PageTest.FLAGS, "--tokens", tokens)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.client.call("server.auth", harness.token_of("chief"))

    def sign_in(self, token):
        self.b.driver.get(admin_url(self.server) + "/#/queues")
        field = self.b.find("#token")
        self.assertEqual([e["message"] for e in self.b.driver.get_log("browser")], [], "the page learns without an error that it needs a token")
        field.send_keys(token, "\n")

    def test_a_wrong_token_then_the_right_one_then_out(self):
        self.sign_in("no-such-token")
        self.b.sees("This token is not known.", ".signin")
        self.b.shot("sign-in")
        self.b.find("#token").send_keys(harness.token_of("chief"), "\n")
        self.b.sees("Live", "header")
        self.b.sees("token:chief", "header")
        self.b.sees("Queues", "main h1")
        kept = self.b.js("return JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])")
        self.assertNotIn(harness.token_of("chief"), kept, "the page keeps no token")
        self.assertNotIn("ergon_session", kept, "scripts cannot read the cookie")
        self.b.driver.refresh()
        self.b.sees("token:chief", "header")
        self.b.click("Sign out", "header")
        self.b.find("#token")
        self.b.driver.refresh()
        self.b.find("#token")

    def test_who_may_little_is_told_so(self):
        self.submit("echo", [1], {"delay": "1h"})
        self.client.call("queue.pause", "echo")
        self.addCleanup(self.client.call, "queue.resume", "echo")
        self.sign_in(harness.token_of("reader"))
        self.b.sees("echo", 'table[aria-label="Queues"]')
        button = self.row("echo") + ' button[data-method="queue.resume"]'
        self.b.find(button)
        self.assertTrue(self.b.js("return document.querySelector(arguments[0]).disabled", button), "off from the beginning")
        self.assertEqual(self.b.js("return document.querySelector(arguments[0]).title", button), "Not allowed: the rights of token:reader do not include queue.resume")
        barred = lambda: set(self.b.js("return [...document.querySelectorAll('nav a.barred')].map((a) => a.dataset.view)"))
        self.assertEqual(barred(), {"methods", "events", "batches", "actors", "workers", "crons", "semaphores", "connections"})
        self.b.keys("i")
        self.b.sees("server.info", "dialog[open]")
        self.b.sees("token:reader", "dialog[open]")
        self.b.shot("rights")
        self.b.keys("ESCAPE")
        self.b.until(lambda: not self.b.js("return document.querySelector('dialog[open]')"), "Escape closes it")
        self.b.shot("denied")
        for view in ("crons", "workers", "connections", "events", "methods", "batches"):
            self.b.js("location.hash = arguments[0]", "#/" + view)
            self.b.sees("You are not allowed to do this", "main")
        self.b.js("location.hash = '#/overview'")
        self.b.sees("stepped 0", "main")

    def test_contents_that_may_not_be_seen(self):
        with self.server.connect() as reader:
            reader.call("server.auth", harness.token_of("reader"))
            tenant = reader.call("server.whoami")["tenant"]
        task = self.submit("sum", [12345, 1], {"tenant": tenant})
        self.client.call("task.wait", task)
        self.sign_in(harness.token_of("reader"))
        self.b.sees("Live", "header")
        self.b.js("location.hash = arguments[0]", "#/task/" + task)
        self.b.sees("You do not have the right task.params.", '[aria-label="Parameters"]')
        self.b.sees("Hidden. You have neither the right task.params", '[aria-label="Result"]')
        self.assertNotIn("1234", self.b.text("main"))
        self.b.click("Submit again", ".heading")
        self.b.sees("Those of the task are hidden. You do not have the right task.params.", "dialog")
        self.b.click("Submit", "dialog")
        self.b.sees("You are not allowed to do this", "dialog")
        self.b.keys("ESCAPE")
        self.b.js("location.hash = '#/tasks?contains=12345'")
        self.b.sees("No task matches", "main")

    def test_who_may_all_has_nothing_switched_off(self):
        self.submit("echo", [1], {"delay": "1h"})
        self.sign_in(harness.token_of("chief"))
        self.b.sees("Live", "header")
        self.assertEqual(self.b.js("return document.querySelectorAll('button[data-denied], nav a.barred').length"), 0, "nothing is off")

    def test_a_session_that_the_server_has_forgotten(self):
        self.sign_in(harness.token_of("chief"))
        self.b.sees("Live", "header")
        self.b.driver.delete_all_cookies()
        self.b.js("location.hash = '#/crons'")
        self.b.find("#token")


class Again(unittest.TestCase):
    """A server that goes and comes while the page is open."""

    def test_the_page_comes_back(self):
        b = browser()
        b.size(1440, 900)
        with harness.Server("--admin", "http://127.0.0.1:0") as server:
            admin = admin_url(server)
            b.driver.get(admin + "/#/overview")
            b.sees("Live", "header")
            old = server.pid
            b.sees(f"process {old}", "main")
        b.sees("Not connected", "header")
        b.sees("the figures are old", ".lost")
        b.shot("not-connected")
        with harness.Server("--admin", admin) as server, server.connect() as client:
            b.sees("Live", "header")
            b.sees(f"process {server.pid}", "main")
            b.until(lambda: b.js("return document.querySelector('.lost').hidden"), "the message goes")
            client.call("task.submit", "echo", [1])
            b.js("location.hash = '#/queues'")
            b.click("Pause", 'tr[data-key="echo"]')
            b.sees("The queue echo is paused.", "#toasts")
            self.assertTrue(client.call("queue.list")[0]["paused"])
            b.driver.get("about:blank")
            self.assertEqual(b.complaints(gone=True), [])


class Many(PageTest):
    """The list of tasks holds one page, however many tasks are kept."""

    def test_requests_stay_small(self):
        odd = self.submit("sum", [1], {"delay": "10h", "key": "the-odd-one"})
        batch, left = 10000, KEPT
        while left > 0:
            n = min(batch, left)
            self.client.call("task.submit_many", [["echo", [7], {"delay": "10h"}]] * n, {"durable": "none"})
            left -= n
        long_steps = lambda: [loop["long_steps"] for loop in self.client.call("server.topology")["loops"]]
        before = long_steps()
        self.open("overview")
        # Each request of the page from here on: how long it took, and how much came.
        self.b.js("""window.asked = []; const original = window.fetch;
            window.fetch = async (...a) => { const began = performance.now(); const r = await original(...a); const text = await r.clone().text();
                window.asked.push([String(a[1]?.body ?? a[0]), performance.now() - began, text.length]); return r; };""")
        self.open("tasks")
        rows = lambda: self.b.js("return document.querySelectorAll('main tbody tr').length")
        self.b.until(lambda: rows() == 100, "one page is shown")
        for page in range(2, 12):
            self.b.click("Older", ".pager")
            self.b.sees(f"page {page},", ".pager")
            self.b.until(lambda: rows() == 100, "a page of a hundred")
        field = self.b.find("#search")
        field.send_keys("key:the-odd-one\n")
        self.b.sees(odd, "main tbody")  # the oldest of all
        asked = [a for a in self.b.js("return window.asked") if "task.list" in a[0]]
        self.assertGreaterEqual(len(asked), 12)
        self.assertLess(max(size for _, _, size in asked), 256 * 1024, "an answer is one page")
        self.assertLessEqual(self.b.js("return document.querySelectorAll('main tbody tr').length"), 100)
        times = sorted(ms for _, ms, _ in asked)
        print(f"\n{KEPT} kept tasks: {len(times)} requests of task.list, median {times[len(times) // 2]:.1f} ms, longest {times[-1]:.1f} ms, "
              f"largest {max(size for _, _, size in asked)} bytes; long steps of the loops {before} before, {long_steps()} after")
        self.client.call("task.cancel", {"state": "delayed"})


if __name__ == "__main__":
    if missing():
        print(f"skipped: {missing()} is not installed")
        sys.exit(77)
    unittest.main()
