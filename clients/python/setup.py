"""pyproject.toml describes the package. Here is only where it is built: setuptools would write into this folder."""
import atexit
import shutil
import tempfile

from setuptools import setup

place = tempfile.mkdtemp(prefix="ergon-client-")
atexit.register(shutil.rmtree, place, ignore_errors=True)
setup(options={"build": {"build_base": place}, "egg_info": {"egg_base": place}, "bdist_wheel": {"bdist_dir": place + "/wheel"}})
