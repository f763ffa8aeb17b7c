#!/usr/bin/python3
"""Hashes files on the server, all at once, each as a task that is tried again and survives a restart of the server.

    ERGON_URL=unix:///run/ergon/socket ./example.py FILE...
"""
import asyncio
import os
import pathlib
import sys

import ergon_client
from ergon_client import aio


async def digest(ergon, path):
    data = pathlib.Path(path).read_bytes()
    task = await ergon.submit("hash", "sha256", data, "hex", retries=3)
    async for event in task.watch():
        print(f"{task.id}: {event['event']}", file=sys.stderr)
    print(await task.wait(), path, sep="  ")


async def main(paths):
    async with aio.Client(os.environ["ERGON_URL"], timeout=60) as ergon, asyncio.TaskGroup() as group:
        for path in paths:
            group.create_task(digest(ergon, path))


try:
    asyncio.run(main(sys.argv[1:]))
except* (ergon_client.ErgonError, OSError) as failed:
    sys.exit("\n".join(map(str, failed.exceptions)))
