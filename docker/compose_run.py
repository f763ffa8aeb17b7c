#!/usr/bin/python3
"""Runs a compose file where no engine of Docker answers: by podman, and without a name service.

    compose_run.py FILE LAST [--kill SERVICE]

Starts the services that LAST depends on, in order, and LAST; its exit status is this program's.  With --kill that service is
killed once LAST runs.  It knows the keys that our files have (tests/lint/compose_test.py).  Nothing of it stays.
"""
import argparse
import os
import shlex
import subprocess
import sys
import time

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ENGINE = os.path.join(HERE, "engine.sh")
LIMIT = 180.0  # seconds until a service is healthy, or has ended


def engine(*words, check=True, **more):
    return subprocess.run([ENGINE, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=check, **more)


class Run:
    def __init__(self, path, tag):
        with open(path, encoding="utf-8") as f:
            self.compose = yaml.safe_load(f)
        self.folder, self.tag = os.path.dirname(os.path.abspath(path)), tag
        self.services = self.compose["services"]
        third = os.getpid() % 250 + 1
        self.addresses = {name: f"10.89.{third}.{10 + i}" for i, name in enumerate(self.services)}
        self.network, self.subnet = f"{tag}-net", f"10.89.{third}.0/24"
        self.started, self.over = [], {}

    def container(self, name):
        return f"{self.tag}-{name}"

    def options(self, name, service):
        """The words of `run` for a service."""
        words = ["--name", self.container(name), "--network", self.network, "--ip", self.addresses[name],
                 "--hostname", service.get("hostname", name)]
        words += [f"--add-host={other}:{address}" for other, address in self.addresses.items() if other != name]
        words += ["--read-only"] * service.get("read_only", False)
        words += [f"--cap-drop={c.lower()}" for c in service.get("cap_drop", [])]
        words += [f"--security-opt={o.replace(':true', '')}" for o in service.get("security_opt", [])]
        words += [f"--env={key}={value}" for key, value in service.get("environment", {}).items()]
        words += [f"--tmpfs={path}" for path in service.get("tmpfs", [])]
        words += [f"--restart={service.get('restart', 'no')}"]
        for volume in service.get("volumes", []):
            source, _, rest = volume.partition(":")
            source = os.path.join(self.folder, source) if source.startswith(".") else f"{self.tag}-{source}"
            words.append(f"--volume={source}:{rest}")
        entrypoint = service.get("entrypoint", [])
        words += [f"--entrypoint={word}" for word in entrypoint[:1]]
        return [*words, service["image"], *(word.replace("$$", "$") for word in [*entrypoint[1:], *service.get("command", [])])]

    def start(self, name):
        """Starts a service when those that it depends on are as it wants them."""
        if name in self.started:
            return
        service = self.services[name]
        for other, wanted in service.get("depends_on", {}).items():
            self.start(other)
            {"service_started": lambda _: None, "service_healthy": self.wait_healthy,
             "service_completed_successfully": self.wait_over}[wanted["condition"]](other)
        self.started.append(name)
        print(f"== {name}", flush=True)
        done = engine("run", "-d", *self.options(name, service), check=False)
        if done.returncode != 0:
            raise SystemExit(f"{name} does not start: {done.stdout}")

    def wait(self, name, condition, what):
        end = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f"{name} is never {what}; its log:\n{self.log(name)}")
            time.sleep(0.5)

    def wait_healthy(self, name):
        test = self.services[name].get("healthcheck", {}).get("test")
        probe = ["exec", self.container(name), *test[1:]] if test else ["healthcheck", "run", self.container(name)]
        self.wait(name, lambda: engine(*probe, check=False).returncode == 0, "healthy")

    def wait_over(self, name):
        if name not in self.over:
            self.over[name] = int(engine("wait", self.container(name), timeout=LIMIT).stdout.split()[-1])
        if self.over[name] != 0:
            raise SystemExit(f"{name} ended with status {self.over[name]}; its log:\n{self.log(name)}")

    def log(self, name):
        return engine("logs", "--tail", "40", self.container(name), check=False).stdout

    def run(self, last, killed):
        engine("network", "create", "--subnet", self.subnet, self.network)
        self.start(last)
        if killed:
            print(f"== kill -9 {killed}", flush=True)
            engine("kill", "--signal", "KILL", self.container(killed))
        status = int(engine("wait", self.container(last)).stdout.split()[-1])
        print(self.log(last))
        if status != 0:
            for name in self.started:
                print(f"== log of {name}\n{self.log(name)[-3000:]}")
        return status

    def end(self):
        for name in reversed(self.started):
            engine("rm", "-f", "-t", "0", self.container(name), check=False)
        for volume in self.compose.get("volumes", {}):
            engine("volume", "rm", "-f", f"{self.tag}-{volume}", check=False)
        engine("network", "rm", "-f", self.network, check=False)


def main():
    parser = argparse.ArgumentParser(usage=shlex.join(["compose_run.py", "FILE", "LAST"]) + " [--kill SERVICE]")
    parser.add_argument("file")
    parser.add_argument("last")
    parser.add_argument("--kill")
    options = parser.parse_args()
    run = Run(options.file, f"ergon-compose-{os.getpid()}")
    try:
        return run.run(options.last, options.kill)
    finally:
        run.end()


if __name__ == "__main__":
    sys.exit(main())
