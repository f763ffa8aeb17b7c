"""A store's file while no server uses it: checked, written out as lines of JSON, made of such lines; and a server that
is started on what is damaged."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import unittest

from harness import ERGON, ERGOND, LIMIT, SANITIZED, Server, eventually, scratch

ENV = {**os.environ, "PATH": os.path.dirname(ERGOND) + ":" + os.environ["PATH"]}
BYTES = bytes(range(256))


def tool(word, path, stdin=None):
    """ergon store WORD FILE: (exit status, stdout bytes, stderr text)."""
    done = subprocess.run([ERGON, "store", word, path], input=stdin, capture_output=True, timeout=LIMIT, env=ENV)
    return done.returncode, done.stdout, done.stderr.decode()


def fill(server):
    """A task of each kind that there is; their ids."""
    with server.connect() as client:
        ids = {
            "started": client.call("task.submit", "echo", [], {"rate": {"key": "r", "max": 2, "per": "1h"}, "keep": "1h"}),
            "done": client.call("task.submit", "echo", [BYTES, "äöü\0"], {"keep": "1h", "key": "k\"\n"}),
            "failed": client.call("task.submit", "fail", ["ODD", "not \"today\""], {"retries": 1, "backoff": "1ms"}),
            "delayed": client.call("task.submit", "echo", [], {"delay": "1h", "limit": {"key": "l", "max": 3}}),
            "limited": client.call("task.submit", "echo", [1.5, None, -7],
                                   {"delay": "1h", "rate": {"key": "r", "max": 2, "per": "1m"}, "keep": "200000d",
                                    "tenant": "t", "priority": 9}),
        }
        ids = {name: task["id"] for name, task in ids.items()}
        ids["after"] = client.call("task.submit", "echo", [], {"after": ids["delayed"]})["id"]
        for name in ("done", "failed", "started"):
            client.call("task.wait", ids[name], {"timeout": "60s"})
        client.call("queue.pause", "hash")
        client.call("cron.put", "nightly", "0 3 * * *", "echo", ["x"], {"zone": "Europe/Berlin"})
        client.call("sem.create", "gate", 2)
        batch = client.call("batch.create", {"on_end": ["echo", ["x"], {"delay": "1h"}]})["id"]
        ids["member"] = client.call("task.submit", "echo", [], {"batch": batch, "delay": "1h"})["id"]
        client.call("sem.acquire", "gate", {"grace": "1h"})
    return ids


def killed(path):
    """A server with such tasks, killed: its log has most of them."""
    with Server("--store", path).until_killed() as server:
        return fill(server)


def told(path, ids):
    """All that a server on this file knows of them."""
    with Server("--store", path) as server, server.connect() as client:
        return {name: client.call("task.get", task) for name, task in ids.items()}


def add_actors(path):
    """Rows of actors, of two tenants, and a message that has ended."""
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO actor_types VALUES ('counter', x'81a6736368656d6101')")
        db.executemany("INSERT INTO actors (type, key, tenant, version, schema, changed_at, stopped, state) VALUES ('counter', ?, ?, ?, 1, 1790000000000000000, ?, ?)",
                       [("1", "", 2 ** 40, None, b"\x07"), ("1", "acme", 1, "on hold", b"\xc4\x02\x00\xff"), ("ä/b", "", 3, None, None)])
        db.executemany("INSERT INTO turns (seq, type, key, tenant, version, gone, state) VALUES (?, 'counter', ?, ?, ?, ?, ?)",
                       [(7, "1", "", 1, None, b"\x01"), (8, "new", "", 2, None, b"\x02"), (9, "ä/b", "", None, 1, None), (11, "1", "", 9, None, b"\x09")])
        db.execute("UPDATE submissions SET method = 'counter.add', actor = 'counter/1' WHERE id IN (SELECT id FROM lives WHERE state = 'done' LIMIT 1)")


def rows(path):
    """The tables, row for row."""
    with sqlite3.connect(path) as db:
        names = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {name: sorted(db.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in names}


def content(path):
    with open(path, "rb") as f:
        return f.read()


def flip(path, offset, bit=0):
    with open(path, "r+b") as f:
        f.seek(offset)
        byte = f.read(1)[0]
        f.seek(offset)
        f.write(bytes([byte ^ 1 << bit]))


class StoreTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.path = os.path.join(self.folder, "tasks.db")

    def sound(self, path):
        status, out, errors = tool("check", path)
        self.assertEqual((status, errors), (0, ""), out)
        self.assertIn(b": sound: ", out)

    def damaged(self, path, what):
        status, out, _ = tool("check", path)
        self.assertEqual(status, 1, out)
        self.assertIn(what, out.decode())

    def start_refused(self, path, what):
        """By a text, with the exit status of a start that failed, and at once."""
        done = subprocess.run([ERGOND, "--listen", "ergon://127.0.0.1:0", "--store", path], capture_output=True,
                              timeout=LIMIT)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, 1, text)
        self.assertIn("cannot start", text)
        self.assertIn(what, text)

    def test_what_goes_out_comes_in_equal(self):
        ids = killed(self.path)
        add_actors(self.path)
        self.sound(self.path)
        status, lines, errors = tool("export", self.path)
        self.assertEqual((status, errors), (0, ""))
        copy = os.path.join(self.folder, "copy.db")
        self.assertEqual(tool("import", copy, lines)[0], 0)
        self.sound(copy)
        before, after = rows(self.path), rows(copy)
        self.assertEqual([name for name, found in before.items() if not found], [], "nothing is known of these")
        actors = {row[1:3]: (row[3], row[-1]) for row in after["actors"]}
        self.assertEqual(actors, {("1", ""): (9, b"\x09"), ("1", "acme"): (1, b"\xc4\x02\x00\xff"), ("new", ""): (2, b"\x02")}, "turns are folded")
        self.assertEqual(after.pop("turns"), [])
        del before["turns"], before["actors"], after["actors"]
        self.assertEqual(after, before)
        status, again, errors = tool("export", copy)
        self.assertEqual((status, sorted(again.splitlines()), errors), (0, sorted(lines.splitlines()), ""))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("copy.db-")], [], "who only reads leaves nothing")
        self.assertEqual(told(copy, ids)["done"]["state"], "done")

    def test_lines_are_for_people(self):
        ids = killed(self.path)
        lines = [json.loads(line) for line in tool("export", self.path)[1].splitlines()]
        self.assertEqual(list(lines[0]), ["store"])
        self.assertEqual(list(lines[-1]), ["counters"])
        tasks = [line["task"] for line in lines if "task" in line]
        self.assertEqual(len(tasks), len(ids))
        self.assertEqual([t["method"] for t in tasks], ["echo", "echo", "fail", "echo", "echo", "echo", "echo"])
        self.assertEqual(tasks[2]["life"]["error_text"], "not \"today\"")
        self.assertEqual(tasks[4]["options"]["keep_ns"], str(200000 * 86400 * 10**9))

    def test_a_server_that_uses_it_is_named(self):
        with Server("--store", self.path) as server:
            fill(server)
            for word in ("check", "export"):
                status, out, errors = tool(word, self.path)
                self.assertEqual(status, 2)
                self.assertIn(f"another server uses it: process {server.pid}", out.decode() + errors)
        for word in ("check", "export"):
            status, out, errors = tool(word, os.path.join(self.folder, "none.db"))
            self.assertEqual(status, 2)
            self.assertIn("there is no such file", out.decode() + errors)

    def test_an_import_makes_a_new_file_or_none(self):
        killed(self.path)
        lines = tool("export", self.path)[1].splitlines(keepends=True)
        copy = os.path.join(self.folder, "copy.db")
        first = next(n for n, line in enumerate(lines) if line.startswith(b'{"task"'))
        bad = [
            (lines[:-1], len(lines), "is missing"),
            (lines[1:], 1, "wrong place"),
            (lines + lines[-1:], len(lines) + 1, "wrong place"),
            (lines[:first] + [b'{"task":{"id":7,"method":"m","durable":"none"}}\n'] + lines[first:], first + 1, "durability"),
            (lines[:first] + [b'{"task":{"id":7,"methud":"m"}}\n'] + lines[first:], first + 1, "no `methud` in `submissions`"),
            (lines[:first] + [b'{"task":{"id":-7}}\n'] + lines[first:], first + 1, "`id` of `submissions` cannot hold"),
            (lines[:first] + [b'{"task":\n'] + lines[first:], first + 1, ""),
            (lines[:first] + [lines[first]] + lines[first:], first + 2, "UNIQUE"),
            (lines[:first] + [b'{"event":{"task":7,"seq":2,"what":"started"}}\n'] + lines[first:], first + 1, "no line before"),
        ]
        for given, line, why in bad:
            status, _, errors = tool("import", copy, b"".join(given))
            self.assertEqual(status, 1, errors)
            self.assertIn(f"line {line}: ", errors)
            self.assertIn(why, errors)
            self.assertEqual([f for f in os.listdir(self.folder) if f.startswith("copy.db") and f != "copy.db.lock"], [])
        self.assertEqual(tool("import", copy, b"".join(lines))[0], 0)
        before = rows(copy)
        status, _, errors = tool("import", copy, b"".join(lines))
        self.assertEqual(status, 2)
        self.assertIn("it is there", errors)
        self.assertEqual(rows(copy), before)

    def test_an_import_names_all_rows_with_a_zero(self):
        killed(self.path)
        lines = tool("export", self.path)[1].splitlines(keepends=True)
        copy = os.path.join(self.folder, "copy.db")
        tasks = [n for n, line in enumerate(lines) if line.startswith(b'{"task"')][:2]
        for n, (part, column) in zip(tasks, (("options", "key"), (None, "tenant"))):
            line = json.loads(lines[n])
            (line["task"].setdefault(part, {}) if part else line["task"])[column] = "a\0b"
            lines[n] = json.dumps(line).encode() + b"\n"
        status, _, errors = tool("import", copy, b"".join(lines))
        self.assertEqual(status, 1, errors)
        self.assertIn(f"line {tasks[0] + 1}: `key` of `options` has U+0000", errors)
        self.assertIn(f"line {tasks[1] + 1}: `tenant` of `submissions` has U+0000", errors)
        self.assertIn("write the lines above without \\u0000, or leave them out; nothing was imported", errors)
        self.assertFalse(os.path.exists(copy))

    def test_a_file_that_is_missing_beside_its_log(self):
        killed(self.path)
        size = os.path.getsize(self.path + "-wal")
        self.assertGreater(size, 0)
        os.rename(self.path, self.path + ".aside")
        self.start_refused(self.path, "missing or empty, but its log")
        self.damaged(self.path, "missing or empty, but its log")
        self.assertFalse(os.path.exists(self.path))
        self.assertEqual(os.path.getsize(self.path + "-wal"), size)
        os.rename(self.path + ".aside", self.path)
        self.sound(self.path)

    @unittest.skipIf(SANITIZED, "a sanitizer has a handler of SIGBUS of its own")
    def test_a_server_lives_on_when_its_running_file_is_truncated(self):
        with Server("--store", self.path) as server, server.connect() as client:
            for size in (None, 0):
                if size is not None:
                    os.truncate(self.path + "-running", size)
                for _ in range(3):
                    task = client.call("task.submit", "echo", ["x"], {"durable": "fsync"})
                    client.call("task.wait", task["id"], {"timeout": "60s"})
                    self.assertEqual(client.call("task.get", task["id"])["state"], "done")
            eventually(lambda: re.search("a file of the store was truncated by another process.*-running", server.log_text()), "the log names the file")
        self.sound(self.path)

    def test_a_log_that_is_damaged_in_the_middle(self):
        killed(self.path)
        flip(self.path + "-wal", 32 + 24 + 4096 + 500)
        before = content(self.path + "-wal")
        self.start_refused(self.path, "its log (-wal) is not as it was written from byte")
        self.damaged(self.path, "at least")
        status, lines, errors = tool("export", self.path)
        self.assertEqual(status, 1)
        self.assertIn("its log (-wal) is not as it was written", errors)
        self.assertEqual(content(self.path + "-wal"), before)
        copy = os.path.join(self.folder, "copy.db")
        self.assertEqual(tool("import", copy, lines)[0], 0)
        self.sound(copy)
        told(copy, {})

    def test_an_id_that_lost_a_bit_does_not_end_the_server_and_runs_nothing_twice(self):
        with Server("--store", self.path) as server, server.connect() as client:
            ids = [client.call("task.submit", "echo", ["findme%03d" % n], {"keep": "1h"})["id"] for n in range(40)]
            for task in ids:
                client.call("task.wait", task, {"timeout": "60s"})
        data = content(self.path)
        at = data.rindex(b"findme020")
        row = data.rindex(b"echo", 0, at)  # its head and its id stand before the name of the method
        for bit in range(3, 7):
            shutil.copy(self.path, self.path + ".bad")
            flip(self.path + ".bad", row - 8, bit)
            self.start_refused(self.path + ".bad", "it is damaged: ")
            self.damaged(self.path + ".bad", "tasks")
            status, lines, errors = tool("export", self.path + ".bad")
            self.assertEqual(status, 1, errors)
            copy = os.path.join(self.folder, f"copy{bit}.db")
            self.assertEqual(tool("import", copy, lines)[0], 0)
            self.sound(copy)
            states = [state for id, state, *_ in rows(copy)["lives"]]
            self.assertIn(len(states), (39, 40), errors)  # its number may be another's now
            self.assertLessEqual(set(states), {"done", "dead"}, errors)

    def test_a_last_fence_that_cannot_be_is_refused_and_put_right_by_an_export(self):
        """Else fences would come again: lower than one that is held, or beyond what there can be."""
        killed(self.path)
        for number, (last, what) in enumerate([(None, "its fence is higher"), (1, "its fence is higher"), (-1, "counters"), (2 ** 63 - 1, "counters"),
                                               ("'none'", "counters")]):
            bad, copy = (os.path.join(self.folder, f"{name}{number}.db") for name in ("bad", "copy"))
            self.assertEqual(tool("import", bad, tool("export", self.path)[1])[0], 0)
            with sqlite3.connect(bad) as db:
                ((held,),) = db.execute("SELECT max(id) FROM holds").fetchall()
                db.execute(f"UPDATE counters SET last_fence = {'NULL' if last is None else last}")
            self.start_refused(bad, what)
            self.damaged(bad, "counters")
            status, lines, _ = tool("export", bad)
            self.assertEqual(status, 1)
            self.assertEqual(tool("import", copy, lines)[0], 0)
            self.sound(copy)
            with Server("--store", copy) as server, server.connect() as client:
                self.assertGreater(client.call("sem.acquire", "gate", {"wait": 0})["fence"], held)

    def test_an_event_whose_task_is_no_number_is_found(self):
        killed(self.path)
        for number, task in enumerate(("-1", "0", "1.5", "'x'")):
            bad = os.path.join(self.folder, f"bad{number}.db")
            self.assertEqual(tool("import", bad, tool("export", self.path)[1])[0], 0)
            with sqlite3.connect(bad) as db:
                db.execute(f"UPDATE events SET task = {task}, seq = 0 WHERE (task, seq) IN (SELECT task, seq FROM events LIMIT 1)")
            self.start_refused(bad, "it is damaged: ")
            self.damaged(bad, "event")

    def test_damaged_rows_of_actors_are_named_and_left_out(self):
        killed(self.path)
        add_actors(self.path)
        for number, (sql, what) in enumerate([("UPDATE actors SET version = 'x' WHERE tenant = 'acme'", 'row "counter/1/acme" of `actors` has an impossible value'),
                                              ("UPDATE actors SET state = x'9101ff' WHERE tenant = 'acme'", "its state is no MessagePack"),
                                              ("UPDATE actors SET key = '' WHERE tenant = 'acme'", "its key is none"),
                                              (f"UPDATE actors SET key = '{'k' * 600}' WHERE tenant = 'acme'", "a name that is too long"),
                                              ("UPDATE actor_types SET policy = x'c1'", "its policy is none"),
                                              ("UPDATE submissions SET actor = 'counter' WHERE actor IS NOT NULL", "its actor has no name"),
                                              ("DROP VIEW actor_states; DROP TABLE actors", "the table `actors` is missing")]):
            bad, copy = (os.path.join(self.folder, f"{name}{number}.db") for name in ("bad", "copy"))
            self.assertEqual(tool("import", bad, tool("export", self.path)[1])[0], 0)
            with sqlite3.connect(bad) as db:
                db.executescript(sql)
            self.damaged(bad, what)
            status, lines, _ = tool("export", bad)
            self.assertEqual(status, 1)
            self.assertEqual(tool("import", copy, lines)[0], 0)
            self.sound(copy)
            self.assertEqual(len(rows(copy)["actors"]), 2 if "tenant" in sql else 0 if "DROP" in sql else 3)
        with sqlite3.connect(self.path) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # whatever connections are still open
        shutil.copy(self.path, self.path + ".bad")
        with sqlite3.connect(self.path + ".bad") as db:
            db.executescript("UPDATE turns SET state = x'c1' WHERE seq = 11")
        self.damaged(self.path + ".bad", "row 11 of `turns`: its state is no MessagePack")

    def test_a_page_of_zeros_loses_what_stood_on_it_alone(self):
        with Server("--store", self.path) as server, server.connect() as client:
            ids = [client.call("task.submit", "echo", ["x" * 300], {"delay": "1h"})["id"] for _ in range(100)]
        with sqlite3.connect(self.path) as db:
            pages = [r[0] for r in db.execute("SELECT pageno FROM dbstat WHERE name = 'submissions' AND pagetype = 'leaf' "
                                              "ORDER BY path")] if has_dbstat(db) else None
        if pages is None:
            self.skipTest("this SQLite has no dbstat")
        with open(self.path, "r+b") as f:
            f.seek((pages[len(pages) // 2] - 1) * 4096)
            f.write(bytes(4096))
        self.start_refused(self.path, "it is damaged: ")
        status, lines, errors = tool("export", self.path)
        self.assertEqual(status, 1)
        self.assertIn("cannot be read", errors)
        tasks = sum(line.startswith(b'{"task"') for line in lines.splitlines())
        self.assertGreater(tasks, len(ids) * (len(pages) - 2) // len(pages))
        self.assertLess(tasks, len(ids))
        copy = os.path.join(self.folder, "copy.db")
        self.assertEqual(tool("import", copy, lines)[0], 0)
        self.sound(copy)


def has_dbstat(db):
    try:
        db.execute("SELECT 1 FROM dbstat LIMIT 1")
        return True
    except sqlite3.OperationalError:
        return False


if __name__ == "__main__":
    unittest.main()
