"""A headless Chromium for tests of the page; each test has a fresh profile."""

import shutil
from contextlib import asynccontextmanager

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@asynccontextmanager
async def browsing(**options):
    """Give a browser context; the test is skipped where no Chromium is installed."""
    playwright = pytest.importorskip("playwright.async_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS, chromium_sandbox=False
        )
        try:
            context = await browser.new_context(**options)
            context.set_default_timeout(15_000)
            yield context
        finally:
            await browser.close()
