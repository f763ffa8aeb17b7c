"""The servers that keep tasks on disk: how each is started so that it acknowledges what is durable, as fast as it can."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile

from servers import Beanstalkd, Broken, Ergon, Gearmand, Nats, Redis


class Keeping:
    """In front of a Peer: a folder of its own for each start, where the others' are too, and gone with it."""

    synced = True  # an acknowledged task is on disk
    folder = None

    def start(self, processors):
        self.folder = tempfile.mkdtemp(prefix="keeper-", dir=self.place.folder)
        os.chmod(self.folder, 0o777)
        try:
            super().start(processors)
            self.prepare()
        except BaseException:
            self.stop()
            raise

    def prepare(self):
        """What the server is asked for before it is measured."""

    def stop(self):
        super().stop()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def workers(self):
        return []

    def settings(self):
        return re.sub(r"[^ =]*keeper-\w+", "FOLDER", super().settings())


class ErgonKeeps(Keeping, Ergon):
    """Its tasks wait: their queue is paused."""

    protocol = "submit-fsync"
    what = "task.submit, durable: fsync; its queue is paused"

    def argv(self):
        return [*super().argv(), "--store", f"{self.folder}/tasks.db", "--tasks-max", "16777216", "--tasks-bytes", "16g"]

    def call(self, method, *params):
        words = [p if isinstance(p, str) else json.dumps(p) for p in params]
        done = subprocess.run([self.built("client/cli/ergon"), "--json", "--timeout", "60s", "--server",
                               f"ergon://127.0.0.1:{self.port}", "call", method, *words], capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(f"{self.name}: {method}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def prepare(self):
        self.call("queue.pause", "echo")


class ErgonRuns(ErgonKeeps):
    name = "ergon, run meanwhile"
    what = "task.submit, durable: fsync; each is run, and its end committed"

    def prepare(self):
        pass


class RedisKeeps(Keeping, Redis):
    protocol = "redis-push"
    what = "RPUSH, appendfsync always"

    def argv(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes",
                "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0", "--io-threads", "1",
                "--dir", self.folder]


class BeanstalkdKeeps(Keeping, Beanstalkd):
    protocol = "beanstalk-put"
    what = "put, an fsync for each"

    def argv(self):
        return [*super().argv(), "-b", self.folder, "-f0", "-s", "104857600"]


class GearmandKeeps(Keeping, Gearmand):
    protocol = "gearman-background"
    what = "SUBMIT_JOB_BG, SQLite"

    def argv(self):
        return [*super().argv(), "-q", "libsqlite3", f"--libsqlite3-db={self.folder}/queue.db"]


class JetStream(Keeping, Nats):
    name, protocol, method = "jetstream", "nats-stream", "tasks"
    what = "message to a stream in files, and its acknowledgement: not synced"
    synced = False

    def argv(self):
        return [*super().argv(), "-js", "-sd", self.folder]

    def prepare(self):
        stream = json.dumps({"name": "tasks", "subjects": ["tasks"], "storage": "file", "retention": "workqueue"})
        with socket.create_connection(("127.0.0.1", self.port), 10) as s:
            s.sendall(f'CONNECT {{"verbose":false}}\r\nSUB made 1\r\nPUB $JS.API.STREAM.CREATE.tasks made {len(stream)}\r\n'
                      f"{stream}\r\n".encode())
            said = b""
            while b"MSG made" not in said or said.count(b"\r\n") < 3:
                more = s.recv(65536)
                if not more:
                    break
                said += more
        if b'"error"' in said or b"stream_create_response" not in said:
            raise Broken(f"{self.name}: no stream: {said[-300:].decode(errors='replace')}")


KEEPERS = [RedisKeeps, BeanstalkdKeeps, GearmandKeeps, JetStream, ErgonRuns]
