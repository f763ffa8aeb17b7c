"""docs/tasks.md is true: what it shows is run, line by line, with a server of its own that is killed on the way."""
import unittest

from guide_test import ExecutedGuide


class Tasks(ExecutedGuide, unittest.TestCase):
    GUIDE = "tasks.md"
    WHOLE = set()


if __name__ == "__main__":
    unittest.main()
