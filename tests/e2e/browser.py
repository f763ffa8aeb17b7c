"""A real Chromium that tests drive: one for all tests of a process.  Debian's chromium, chromium-driver and python3-selenium.

It counts as a failure when the page writes an error to the console, or breaks the content security policy.
"""
import os
import re
import shutil
import tempfile
import time
import unittest

import harness

try:
    from selenium import webdriver
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, WebDriverException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
# Requests that were refused, as some are: a wrong token, a session that has ended, rights that are missing, what is not found.
REFUSED = re.compile(r"Failed to load resource: the server responded with a status of 4\d\d")
GONE = re.compile(r"net::ERR_")


def missing():
    """What is not installed, or None."""
    for what, there in (("python3-selenium", webdriver), ("chromium", CHROMIUM), ("chromium-driver", DRIVER)):
        if not there:
            return what
    return None


class Browser:
    """Chromium without a window."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        # Its own sandbox needs rights that containers lack; only pages of this test are opened.
        for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb",
                     "--no-first-run", "--disable-background-networking", "--user-data-dir=" + self.folder.name):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        self.driver.set_script_timeout(harness.LIMIT)
        self.driver.set_page_load_timeout(harness.LIMIT)

    def close(self):
        self.driver.quit()
        self.folder.cleanup()

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def media(self, **features):
        """prefers_color_scheme="dark" and the like."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]})

    def complaints(self, gone=False):
        """What the console has got since the last time; `gone`: the server may have been away."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" and not (entry["source"] == "network" and (
                    REFUSED.search(entry["message"]) or gone and GONE.search(entry["message"])))]

    def until(self, condition, what):
        """Waits until `condition` holds; its value.  An element that was drawn anew meanwhile is looked for again."""
        end = time.monotonic() + harness.LIMIT
        while True:
            try:
                value = condition()
                if value:
                    return value
            except (NoSuchElementException, StaleElementReferenceException):
                pass
            if time.monotonic() > end:
                raise AssertionError(f"never happened: {what}\nthe page shows:\n{self.text()[:2000]}")
            time.sleep(0.02)

    def text(self, selector="body"):
        return self.js("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def find(self, selector):
        return self.until(lambda: self.driver.find_element("css selector", selector), f"there is {selector}")

    def sees(self, text, selector="body"):
        self.until(lambda: text in self.text(selector), f"{text!r} in {selector}")

    def sees_not(self, text, selector="body"):
        self.until(lambda: text not in self.text(selector), f"no {text!r} in {selector}")

    def click(self, label, within="body"):
        """Clicks the button of this label, which may be drawn anew while it is looked for."""
        def click():
            element = self.js("""return [...document.querySelectorAll(arguments[0] + ' button')]
                .find((b) => b.innerText.trim().startsWith(arguments[1]) && !b.disabled) ?? null""", within, label)
            if not element:
                return False
            try:
                element.click()
            except StaleElementReferenceException:
                raise
            except WebDriverException as e:
                if "intercepted" in str(e) or "not interactable" in str(e):
                    return False
                raise
            return True
        self.until(click, f"a button {label!r} in {within} can be clicked")

    def click_link(self, label, within="body"):
        """Clicks the link that begins with this label."""
        self.until(lambda: self.js("""const link = [...document.querySelectorAll(arguments[0] + ' a')].find((a) => a.innerText.trim().startsWith(arguments[1]));
            link?.click(); return link !== undefined""", within, label), f"a link {label!r} in {within}")

    def press(self, selector):
        """Clicks the element, which may be drawn anew while it is looked for."""
        self.until(lambda: self.driver.find_element("css selector", selector).click() is None, f"{selector} can be clicked")

    def click_with(self, selector, *keys):
        """Clicks while keys are held down."""
        def click():
            element = self.driver.find_element("css selector", selector)
            self.js("arguments[0].scrollIntoView({block: 'center'})", element)
            chain = ActionChains(self.driver)
            for key in keys:
                chain.key_down(getattr(Keys, key))
            chain.click(element)
            for key in keys:
                chain.key_up(getattr(Keys, key))
            try:
                chain.perform()
            except StaleElementReferenceException:
                chain.reset_actions()  # lets the keys go
                raise
            return True
        self.until(click, f"{selector} can be clicked")

    def chord(self, held, key):
        ActionChains(self.driver).key_down(getattr(Keys, held)).send_keys(getattr(Keys, key, key)).key_up(getattr(Keys, held)).perform()

    def agree(self):
        """Says yes to the question that the page asks."""
        self.press("dialog[open] [data-yes]")

    def keys(self, *keys):
        """Types, as on a keyboard: to whatever has the focus."""
        for key in keys:
            ActionChains(self.driver).send_keys(getattr(Keys, key, key)).perform()

    def shot(self, name):
        """A picture in the folder ERGON_SCREENSHOTS, if there is one."""
        folder = os.environ.get("ERGON_SCREENSHOTS")
        if folder:
            os.makedirs(folder, exist_ok=True)
            self.driver.save_screenshot(os.path.join(folder, name + ".png"))


_browser = None


def browser():
    """The one of this process; SkipTest where there is none."""
    global _browser
    if missing():
        raise unittest.SkipTest(f"{missing()} is not installed")
    if _browser is None:
        _browser = Browser()
        unittest.addModuleCleanup(_browser.close)
    return _browser
