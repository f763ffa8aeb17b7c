"""Executes the examples of the README: each `$ ` line in one shell, its output against what follows, where … stands
for anything."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from harness import BUILD, LIMIT

DOCUMENTS = sys.argv[1:]
MARK = "--- next ---"


def examples(path):
    """(command, expected output) of each `console` block, in order."""
    with open(path) as f:
        blocks = re.findall(r"^```console\n(.*?)^```", f.read(), re.M | re.S)
    found = []
    for line in "".join(blocks).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


class Examples(unittest.TestCase):
    def test_examples(self):
        for path in DOCUMENTS:
            with self.subTest(path=path):
                self.run_document(examples(path))

    def run_document(self, found):
        self.assertGreater(len(found), 0)
        # Between two commands $? stays what it was.
        script = "".join(f"{command}\nstatus=$?; echo '{MARK}'; (exit $status)\n" for command, _ in found)
        path = ":".join([os.path.abspath(os.path.join(BUILD, p)) for p in ("server", "client/cli")] + [os.environ["PATH"]])
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["bash", "-c", script], cwd=folder, env={**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
        outputs = done.stdout.split(MARK + "\n")
        for (command, expected), output in zip(found, outputs):
            with self.subTest(command=command):
                shown = output.rstrip("\n")
                wanted = re.escape("\n".join(expected)).replace("…", ".*")
                self.assertTrue(re.fullmatch(wanted, shown), f"{shown!r} instead of {expected!r}")
        self.assertEqual(len(outputs), len(found) + 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
