"""What somebody may try at the admin listener: each attack by its name, on a server of its own."""
import os
import sys
import unittest

from admin_test import AdminTest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "attacks"))
from admin import ATTACKS  # noqa: E402 (the path above)


class Attacks(AdminTest):
    def test_each_is_borne(self):
        for name, attack in ATTACKS.items():
            with self.subTest(name):
                server, admin = self.open()
                self.assertEqual(admin.sign_in()[0], 200)
                attack(admin)
                self.assertEqual(admin.text("/healthz"), (200, "ok\n"))
                self.assertEqual(server.stop(), 0, server.log_text())


if __name__ == "__main__":
    unittest.main()
