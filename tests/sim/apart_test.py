#!/usr/bin/python3
"""The server knows nothing of its simulation: ergond has no symbol of sim/, and ergon-sim has them.

usage: apart_test.py ERGOND ERGON-SIM
"""

import re
import subprocess
import sys


def symbols(program):
    listed = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return [name for name in re.findall(r" (\S+)$", listed, re.M) if name.startswith(("sim_", "__wrap_"))]


if __name__ == "__main__":
    assert not symbols(sys.argv[1]), symbols(sys.argv[1])
    assert symbols(sys.argv[2]), "nm lists no symbols"
