#!/usr/bin/python3
"""Takes docs/pictures/page-light.png and page-dark.png: the server's page in a browser while the server works."""

import contextlib
import os
import subprocess
import time

import draw
import shop  # finds the modules of the tests
from browser import Browser

WIDTH, HEIGHT, DENSITY = 1120, 900, 1.5
SECONDS = 57  # the charts show what came since the page was opened: a minute
BELOW_CHARTS = "return Math.ceil(document.querySelector('.charts').getBoundingClientRect().bottom) + 12"
DRAWN = """return document.documentElement.dataset.theme === arguments[0]
    && !document.querySelector('.charts').innerText.includes('–')"""


def size(browser, height):
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                   {"width": WIDTH, "height": height, "deviceScaleFactor": DENSITY, "mobile": False})


def take(browser, mode):
    """A picture with at most 256 colours, which is a third of the bytes."""
    browser.media(prefers_color_scheme=mode)
    time.sleep(2)  # figures come once a second, and are drawn in the new colours then
    browser.until(lambda: browser.js(DRAWN, mode), f"the page is {mode}, and its charts have their figures")
    with open(os.path.join(draw.FOLDER, f"page-{mode}.png"), "wb") as out:
        subprocess.run(["pngquant", "--strip", "-"], input=browser.driver.get_screenshot_as_png(), stdout=out, check=True)


def main():
    with contextlib.closing(Browser()) as browser, shop.at_work() as (_, page):
        size(browser, HEIGHT)
        browser.driver.get(page + "/#/overview")
        browser.sees("Live", "header")
        time.sleep(SECONDS)
        size(browser, browser.js(BELOW_CHARTS))
        for mode in ("light", "dark"):
            take(browser, mode)


if __name__ == "__main__":
    main()
