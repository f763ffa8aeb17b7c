"""What the tests with foreign clients share."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

HERE = os.path.dirname(os.path.abspath(__file__))
NPM = os.path.abspath(os.path.join(os.environ.get("ERGON_BUILD", "build"), "tests", "interop", "npm"))
SKIPPED = 77  # the status that CTest shows as skipped


def skip(why):
    print("skipped: " + why)
    sys.exit(SKIPPED)


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            skip(f"{program} is not installed")


def install_npm():
    """What package.json names into the build tree, once; the reason when that is not possible."""
    package = os.path.join(NPM, "package.json")
    with open(os.path.join(HERE, "package.json")) as f:
        wanted = f.read()
    if os.path.exists(package) and os.path.isdir(os.path.join(NPM, "node_modules")):
        with open(package) as f:
            if f.read() == wanted:
                return None
    shutil.rmtree(NPM, ignore_errors=True)
    os.makedirs(NPM)
    with open(package, "w") as f:
        f.write(wanted)
    done = subprocess.run(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"],
                          cwd=NPM, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    shutil.rmtree(NPM)
    return done.stdout + done.stderr


def needs_npm():
    """Node, and what package.json names."""
    if os.environ.get("ERGON_WITHOUT_NPM"):
        skip("ERGON_WITHOUT_NPM is set")
    needs("node", "npm")
    why = install_npm()
    if why is not None:
        skip("npm could not install what is wanted:\n" + why)
