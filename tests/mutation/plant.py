#!/usr/bin/python3
"""plant.py NAME: prints the file of that fault with the fault in it.  For tests that show their own power."""

import os
import sys

import faults

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

found = [f for f in faults.load(TOP) if f.name == sys.argv[1]]
if not found:
    sys.exit(f"no fault is called {sys.argv[1]}")
sys.stdout.write(found[0].plant(faults.source_of(TOP, found[0])))
