#!/usr/bin/python3
"""Options of ergon-sim that do not go together are refused, in one line that says what to do.

usage: options_test.py ERGON-SIM
"""

import subprocess
import sys

# The options, and what the line says of them.
REFUSED = {
    "--from 1000 --futures 2 --first": "--first does not go with --futures: leave one of them out",
    "--from 1000 --futures 2 --reach": "--reach does not go with --futures: leave one of them out",
    "--from 1000 --future 2 --reach": "--reach does not go with --future: leave one of them out",
    "--from 1000 --future 2 --futures 2": "--future does not go with --futures: leave one of them out",
    "--from 1000": "--from needs --futures COUNT or --future K: add one of them",
    "--futures 2": "--futures needs --from MS: add it",
    "--future 2": "--future needs --from MS: add it",
    "--stand-in a.so": "--stand-in needs --module FILE: add it",
    "--script a.sim --seed 1": "--seed does not go with --script: leave one of them out",
    "--script a.sim --shrink b.sim": "--shrink does not go with --script: leave one of them out",
    "--script a.sim --reach": "--reach does not go with --script: leave one of them out",
    "--shrink a.sim --seeds 5": "--seeds does not go with --shrink: leave one of them out",
    "--shrink a.sim --verbose": "--verbose does not go with --shrink: leave one of them out",
    "--shrink a.sim --from 1000": "--from does not go with --shrink: leave one of them out",
    "--module a.so --first b.yaml": "--first does not go with --module: leave one of them out",
    "--module a.so --from 5 b.yaml": "--from does not go with --module: leave one of them out",
    "--module a.so --script b.sim": "--module does not go with --script: leave one of them out",
    "--module a.so": "--module needs a SCENARIO: add the path of its file",
    "--remote a.yaml --seed 1": "--seed does not go with --remote: leave one of them out",
    "--remote --module a.so b.yaml": "--module does not go with --remote: leave one of them out",
    "--remote": "--remote needs a SCENARIO: add the path of its file",
    "--seed 1 more": "unexpected argument 'more': leave it out",
    "--module a.so b.yaml more": "unexpected argument 'more': leave it out",
    "--seed -1": "--seed takes a number of at least 0, not '-1'",
    "--seed 1x": "--seed takes a number of at least 0, not '1x'",
    "--seed 99999999999999999999": "--seed takes a number of at least 0, not '99999999999999999999'",
    "--seeds 0": "--seeds takes a number of at least 1, not '0'",
    "--from 0 --futures 2": "--from takes a number of at least 1, not '0'",
    "--module a.so" + 9 * " --stand-in b.so": "there are more than 8 of --stand-in: leave some out",
}
FIT = ["--seeds 2 --first --reach", "--seeds 2 --from 1000 --futures 1", "--seed 2 --from 1000 --future 1"]


def run(program, options):
    return subprocess.run([program, *options.split()], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    for given, told in REFUSED.items():
        done = run(sys.argv[1], given)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"ergon-sim: {told} (see ergon-sim --help)\n"), (given, done)
    unknown = run(sys.argv[1], "--frist")
    assert unknown.returncode == 2 and unknown.stderr.endswith(": unrecognized option '--frist'\n"), unknown
    for given in FIT:
        assert run(sys.argv[1], given).returncode == 0, given
    usage = run(sys.argv[1], "--help")
    assert usage.returncode == 0 and usage.stdout.startswith("usage: ergon-sim --seed N ") and not usage.stderr, usage
