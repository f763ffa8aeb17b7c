"""What the tests with foreign clients share."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

SKIPPED = 77  # the status that CTest shows as skipped


def skip(why):
    print("skipped: " + why)
    sys.exit(SKIPPED)


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            skip(f"{program} is not installed")
