#!/usr/bin/python3
"""Asks workers for the words of files: a task each, which survives a restart of the server, and of its worker.

    ERGON_URL=unix:///run/ergon/socket ./example_caller.py FILE...
"""
import os
import sys

import ergon_client

with ergon_client.Client(os.environ["ERGON_URL"], token=os.environ.get("ERGON_TOKEN"), timeout=60) as ergon:
    tasks = {}
    for path in sys.argv[1:]:
        with open(path) as file:
            tasks[path] = ergon.submit("words", file.read(), retries=3)
    for path, task in tasks.items():
        print(path, len(task.wait()))
