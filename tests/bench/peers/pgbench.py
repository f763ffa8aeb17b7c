"""Transactions of PostgreSQL, by pgbench on so many connections.  Needs tests/support on the path."""

import os
import subprocess

import postgres
from servers import Broken


class Pgbench:
    """One script, prepared; `processors`: where it runs, None: anywhere.  A window is long enough for new connections."""

    least = 3  # seconds

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
        argv = [os.path.join(postgres.programs(), "pgbench"), "-n", "-M", "prepared", "-c", str(self.connections),
                "-f", self.script, "-T", str(max(self.least, round(self.options.window)))]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, preexec_fn=self.pin,
                              env={**os.environ, **self.engine.env(self.dbname)})
        rate = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("tps = ")]
        if not rate:
            raise Broken(f"pgbench ended with {done.returncode}: {(done.stdout + done.stderr).strip()}")
        return {"rate": float(rate[0])}

    def stop(self):
        pass
