"""What axe-core, from npm, finds in each view of the admin listener's page: in both themes and three widths.  Without npm, or where its registry is out of
reach, the test is skipped and says so."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))

import interop
import page_test
from browser import missing

AXE = os.path.join(interop.NPM, "node_modules", "axe-core", "axe.min.js")


class Axe(page_test.PageTest):
    """What axe-core finds in each view."""

    def findings(self):
        with open(AXE) as script:
            self.b.js(script.read())
        return self.b.driver.execute_async_script("""const done = arguments[0];
            axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
                .then((found) => done(found.violations.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200))])))""")

    def test_each_view(self):
        task = self.submit("flaky", [2], {"retries": 1, "backoff": "1ms"})
        self.client.call("task.wait", task)
        self.client.call("cron.put", "a-cron", "@yearly", "echo", [], {})
        self.addCleanup(self.client.call, "cron.delete", "a-cron")
        self.client.call("actor.call", "counter/axe", "add", [1])
        batch = self.client.call("batch.create", {"on_end": ["echo", []]})["id"]
        self.client.call("batch.add", batch, [["echo", [1]]])
        for scheme in ("light", "dark"):
            self.b.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
            for width in (400, 1280, 1920):
                self.b.size(width, 1000)
                for view in (*page_test.VIEWS, "queues/flaky", "actor/counter%2Faxe", "batch/" + batch, "task/" + task):
                    self.open(view)
                    self.b.until(lambda: self.b.js("return document.querySelector('main tbody tr, .plot canvas, .event-row, .empty:not([hidden])') !== null"), f"{view} shows something")
                    self.assertEqual(self.findings(), [], f"{view}, {scheme}, {width}")
                self.b.click("Submit again", ".heading")
                self.b.find("dialog[open]")
                self.assertEqual(self.findings(), [], f"the form, {scheme}, {width}")
                self.b.keys("ESCAPE")


if __name__ == "__main__":
    if missing():
        interop.skip(f"{missing()} is not installed")
    interop.needs_npm()
    unittest.main()
