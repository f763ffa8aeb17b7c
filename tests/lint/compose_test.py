#!/usr/bin/python3
"""docker/compose.yaml and compose.cluster.yaml fit together: they name services, volumes and files that are there, settings
that the server knows, and publish nothing beyond this machine; Prometheus asks the server where it answers, and Grafana shows what Prometheus has.

There is no engine here that could run it.  What promtool says of Prometheus' configuration is heard where it is installed.
First the test expects to find what it planted; then it reads ours.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tree

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not here")
    sys.exit(77)

PLACE = "docker"
OF_A_SERVICE = {"build", "cap_drop", "command", "depends_on", "entrypoint", "environment", "healthcheck", "hostname", "image",
                "ports", "profiles", "read_only", "restart", "security_opt", "shm_size", "stop_grace_period", "tmpfs", "ulimits", "user",
                "volumes"}


def of_service(top, name, service, compose):
    for key in sorted(set(service) - OF_A_SERVICE):
        yield f"{name}: {key} is no key of a service that is used here"
    for other in service.get("depends_on", []):
        if other not in compose["services"]:
            yield f"{name} depends on {other}, which is no service"
        elif set(compose["services"][other].get("profiles", [])) - set(service.get("profiles", [])):
            yield f"{name} depends on {other}, which is not started with it"
    for port in service.get("ports", []):
        if not port.startswith("127.0.0.1:"):
            yield f"{name}: port {port} is open beyond this machine"
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        if not source.startswith("."):
            if source not in compose.get("volumes", {}):
                yield f"{name}: the volume {source} is not declared"
        elif source != "./modules" and not os.path.exists(os.path.join(top, PLACE, source)):
            yield f"{name}: {source} is not there"
    if "read_only" not in service and "build" in service:
        yield f"{name}: its root can be written"


def settings(top, service):
    known = tree.text(top, "docs/man/ergond.8").replace("\\-", "-")
    for variable in service.get("environment", {}):
        flag = "--" + variable.removeprefix("ERGON_").lower().replace("_", "-")
        if variable.startswith("ERGON_") and f"\\fB{flag}\\fR" not in known:
            yield f"server: {variable} is no setting of ergond"
    for flag in service.get("command", []):
        if flag.startswith("--") and f"\\fB{flag}\\fR" not in known:
            yield f"{flag} is no flag of ergond"


def mounted(service):
    """Path inside: path in the tree, from PLACE."""
    return {v.split(":")[1]: v.split(":")[0] for v in service.get("volumes", []) if v.startswith(".")}


def of_prometheus(top, compose):
    service = compose["services"]["prometheus"]
    files = mounted(service)
    config = yaml.safe_load(tree.text(top, os.path.join(PLACE, "prometheus.yml")))
    admin = compose["services"]["server"]["environment"].get("ERGON_ADMIN", "")
    for job in config["scrape_configs"]:
        for group in job["static_configs"]:
            for target in group["targets"]:
                host, port = target.split(":")
                if host not in compose["services"] or f"{job['scheme']}://0.0.0.0:{port}" != admin:
                    yield f"prometheus.yml: {job['scheme']}://{target} is not where the server answers ({admin})"
    for rules in config.get("rule_files", []):
        folder = os.path.dirname(rules)
        if folder not in files:
            yield f"prometheus.yml: {folder} is not mounted"


def of_grafana(top, compose):
    files = mounted(compose["services"]["grafana"])
    sources = yaml.safe_load(tree.text(top, os.path.join(PLACE, "grafana/sources.yml")))["datasources"]
    providers = yaml.safe_load(tree.text(top, os.path.join(PLACE, "grafana/dashboards.yml")))["providers"]
    folders = [provider["options"]["path"] for provider in providers]
    boards = [os.path.relpath(board, top) for folder in folders if folder in files
              for board in sorted(glob.glob(os.path.join(top, PLACE, files[folder], "*.json")))]
    if not set(folders) <= set(files):
        yield f"grafana: nothing is mounted at {folders}"
    for path in boards:
        board = json.loads(tree.text(top, path))
        variables = {"${%s}" % v["name"] for v in board.get("templating", {}).get("list", []) if v["type"] == "datasource"}
        known = {source["uid"] for source in sources} | variables | {"-- Grafana --", "grafana"}
        for uid in sorted(set(re.findall(r'"datasource": *\{[^}]*"uid": *"([^"]*)"', tree.text(top, path))) - known):
            yield f"{path}: the data source {uid} is none of docker/grafana/sources.yml"
    for source in sources:
        host = re.match(r"http://(\w+):", source["url"])
        if not host or host[1] not in compose["services"]:
            yield f"grafana: {source['url']} is no service"


def findings(top):
    compose = yaml.safe_load(tree.text(top, os.path.join(PLACE, "compose.yaml")))
    for name, service in compose["services"].items():
        yield from of_service(top, name, service, compose)
    yield from settings(top, compose["services"]["server"])
    yield from of_prometheus(top, compose)
    yield from of_grafana(top, compose)
    cluster = yaml.safe_load(tree.text(top, os.path.join(PLACE, "compose.cluster.yaml")))
    for name, service in cluster["services"].items():
        yield from of_service(top, name, service, cluster)
        if "--cluster" in service.get("command", []):
            yield from settings(top, service)


def promtool(top):
    """Its own opinion, with the rules where they are in the tree, and files of the volume that exist."""
    if not shutil.which("promtool"):
        print("promtool is not here: Prometheus' configuration was not looked at by it")
        return
    compose = yaml.safe_load(tree.text(top, os.path.join(PLACE, "compose.yaml")))
    text = tree.text(top, os.path.join(PLACE, "prometheus.yml"))
    for inside, path in mounted(compose["services"]["prometheus"]).items():
        text = text.replace(inside, os.path.join(top, PLACE, path))
    with tempfile.TemporaryDirectory() as folder:
        for name in re.findall(r"/data/(\S+)", text):
            tree.write(folder, name, "")
        tree.write(folder, "prometheus.yml", text.replace("/data/", folder + "/"))
        done = subprocess.run(["promtool", "check", "config", "--syntax-only", os.path.join(folder, "prometheus.yml")],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield f"promtool: {done.stdout}{done.stderr}"


GOOD = {
    "docs/man/ergond.8": "\\fB\\-\\-admin\\fR \\fB\\-\\-cluster\\fR",
    "docker/compose.cluster.yaml": "services: {node: {command: [--cluster, c]}}",
    "rules/a.rules.yml": "",
    "boards/board.json": '{"panels": [{"datasource": {"uid": "p"}}]}',
    "docker/prometheus.yml": "rule_files: [/r/*.rules.yml]\nscrape_configs: [{scheme: https, static_configs: [{targets: ['server:1']}]}]\n",
    "docker/grafana/sources.yml": "datasources: [{uid: p, url: 'http://prometheus:9090'}]\n",
    "docker/grafana/dashboards.yml": "providers: [{options: {path: /b}}]\n",
    "docker/compose.yaml": """services:
  server: {environment: {ERGON_ADMIN: 'https://0.0.0.0:1'}, ports: ['127.0.0.1:1:1'], volumes: ['data:/data']}
  prometheus: {depends_on: [server], volumes: ['../rules:/r:ro']}
  grafana: {volumes: ['../boards:/b']}
volumes: {data: }
""",
}


def prove():
    assert not tree.planted(findings, GOOD), tree.planted(findings, GOOD)
    for path, was, bad in (("docker/compose.yaml", "data:/data", "date:/data"), ("docker/compose.yaml", "127.0.0.1:1:1", "1:1"),
                           ("docker/compose.yaml", "[server]", "[serve]"), ("docker/compose.yaml", "../rules", "../rule"),
                           ("docker/compose.yaml", ":/r:", ":/s:"), ("docker/compose.yaml", "0.0.0.0:1", "0.0.0.0:2"),
                           ("docker/compose.yaml", ":/b", ":/c"), ("docker/compose.yaml", "ports", "port"),
                           ("docs/man/ergond.8", "admin", "other"),
                           ("docker/compose.cluster.yaml", "[--cluster", "[--cluster, --no"),
                           ("docker/compose.cluster.yaml", "command", "volumes: ['data:/d'], command"),
                           ("boards/board.json", '"p"', '"q"'), ("docker/prometheus.yml", "/r/", "/s/")):
        assert was in GOOD[path]
        assert tree.planted(findings, {**GOOD, path: GOOD[path].replace(was, bad)}), (path, bad)


if __name__ == "__main__":
    prove()
    top = tree.root()
    tree.report([*findings(top), *promtool(top)])
