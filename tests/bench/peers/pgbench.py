"""Transactions of PostgreSQL, by pgbench on so many connections.  Needs tests/support on the path."""

import os
import subprocess

import postgres
from servers import Broken


class Pgbench:
    """One script, prepared; `processors`: where it runs, None: anywhere."""

    def __init__(self, engine, dbname, script, connections, options, processors=None):
        self.engine, self.dbname, self.options = engine, dbname, options
        self.connections, self.processors = connections, processors
        self.script = os.path.join(options.work, f"{dbname}.sql")
        with open(self.script, "w", encoding="ascii") as f:
            f.write(script)

    def pin(self):
        if self.processors:
            os.sched_setaffinity(0, self.processors)

    def window(self):
        """At least three seconds, and longer where its connections, which are new ones, were not made in that time."""
        for seconds in (3, 6, 12, 24):
            said = self.run(max(seconds, round(self.options.window)))
            rate = [line.split()[2] for line in said.splitlines() if line.startswith("tps = ")]
            if rate:
                return {"rate": float(rate[0])}
        raise Broken(f"pgbench did nothing: {said.strip()}")

    def run(self, seconds):
        argv = [os.path.join(postgres.programs(), "pgbench"), "-n", "-M", "prepared", "-c", str(self.connections),
                "-f", self.script, "-T", str(seconds)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, preexec_fn=self.pin,
                              env={**os.environ, **self.engine.env(self.dbname)})
        if done.returncode != 0:
            raise Broken(f"pgbench ended with {done.returncode}: {(done.stdout + done.stderr).strip()}")
        return done.stdout

    def stop(self):
        pass
