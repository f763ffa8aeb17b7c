"""The tests that the Python package has inside it, with the server that was built."""
import importlib.util
import os
import subprocess
import sys

import clients
import interop

if importlib.util.find_spec("msgpack") is None:
    interop.skip("python3-msgpack is not installed")
PACKAGE = os.path.join(clients.SOURCE, "clients", "python")
environment = {**os.environ, "PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "error",
               "ERGOND": os.path.abspath(clients.ERGOND)}
words = sys.argv[1:] or ["discover", "-s", os.path.join(PACKAGE, "tests"), "-t", os.path.join(PACKAGE, "tests")]
sys.exit(subprocess.run([sys.executable, "-m", "unittest", *words], env=environment, cwd=PACKAGE, timeout=9 * clients.LIMIT).returncode)
