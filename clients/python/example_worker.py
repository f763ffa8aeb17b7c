#!/usr/bin/python3
"""Offers the method `words`: how often which word stands in a text. Start as many as you like, anywhere.

    ERGON_URL=unix:///run/ergon/socket ./example_worker.py
"""
import collections
import logging
import os

import ergon_client


def words(context, text):
    """A map from words to how often; whoever watches the task sees how far it is."""
    if "\0" in text:
        raise ergon_client.Permanent("this is no text")
    counts, lines = collections.Counter(), text.splitlines()
    for number, line in enumerate(lines):
        if number % 1000 == 0:
            context.check()  # somebody may have cancelled it
            context.progress(number, len(lines))
        counts.update(line.lower().split())
    return dict(counts)


logging.basicConfig(format="%(message)s")
with ergon_client.Client(os.environ["ERGON_URL"], token=os.environ.get("ERGON_TOKEN")) as ergon:
    ergon.work({"words": words}, slots=2, version="1")  # until SIGTERM or control-C
