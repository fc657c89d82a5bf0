"""The console in a browser: Debian's Chromium, driven as a person would.

Every test starts from the first page. Whatever a page reports (an error of a script, a violation of its policy, an
answer that is not there) and whatever it asks of another address fails the test that opened it.
"""

import contextlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

TESTS = Path(__file__).resolve().parents[1]
CHROMIUM = "/usr/bin/chromium"
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
           --disable-component-update --disable-sync""".split()
# Where pictures of what a test failed at are left.
FAILED = TESTS.parent / "target/console-failed"
# How long a page may take to come to what is expected of it.
PATIENCE = 20_000
HAS_FAILED = pytest.StashKey[bool]()
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 360, "height": 740}


def _of_e2e():
    """The stack as the end-to-end tests start it."""
    spec = importlib.util.spec_from_file_location("e2e", TESTS / "e2e/conftest.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["e2e"] = module
    spec.loader.exec_module(module)
    return module


e2e = _of_e2e()
expect.set_options(timeout=PATIENCE)


class Visitor:
    """A person at a console: tabs of one browser profile, and what their pages report."""

    def __init__(self, chromium, entrance, **options):
        # The printed address, and what it is without the secret.
        self.entrance, self.address = entrance, entrance.partition("?")[0]
        self.context = chromium.new_context(**({"viewport": WIDE} | options))
        self.context.set_default_timeout(PATIENCE)
        self.reported, self.requested = [], []
        self.context.on("console", self._console)
        self.context.on("weberror", lambda error: self.reported.append(f"script: {error.error}"))
        self.context.on("request", lambda request: self.requested.append(request.url))

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.reported.append(f"{message.type}: {message.text} ({message.location['url']})")

    def open(self):
        """The first page, in a new tab."""
        page = self.context.new_page()
        page.goto(self.entrance)
        return page

    def refused(self, status, times=1):
        """The browser notes an answer that refuses: expected where the test is about that, and as often."""
        noted = [text for text in self.reported if f"status of {status} " in text]
        assert len(noted) == times, self.reported
        self.reported = [text for text in self.reported if text not in noted]

    def check(self):
        origin = self.address.removesuffix("/console/")
        assert not self.reported, self.reported
        elsewhere = {url for url in self.requested if not url.startswith((f"{origin}/", "data:"))}
        assert not elsewhere, f"asked of another address: {elsewhere}"

    def picture(self, name):
        """Each page as it is now."""
        FAILED.mkdir(parents=True, exist_ok=True)
        for number, page in enumerate(self.context.pages):
            page.screenshot(path=FAILED / f"{name}-{number}.png")

    def close(self):
        self.context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.when == "call":
        item.stash[HAS_FAILED] = report.failed
    return report


@pytest.fixture(scope="session")
def chromium():
    if not Path(CHROMIUM).exists():
        pytest.exit(f"{CHROMIUM} is missing: apt-get install chromium", returncode=2)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def stack():
    """One stack with the sample, for all tests that keep apart by names of their own."""
    with e2e.Stack("--sample") as running:
        yield running


@pytest.fixture
def own_stack():
    """An empty stack for one test alone."""
    with e2e.Stack() as running:
        yield running


@pytest.fixture
def lasting():
    """What a test starts and its pages ask until they are closed."""
    with contextlib.ExitStack() as started:
        yield started


@pytest.fixture
def visit(chromium, lasting, request):
    """Comes to a console, the stack's own if no other is named."""
    visitors = []

    def come(to=None, **options):
        visitors.append(Visitor(chromium, console_of(to or request.getfixturevalue("stack")), **options))
        return visitors[-1]

    yield come
    if request.node.stash.get(HAS_FAILED, False):
        for number, visitor in enumerate(visitors):
            visitor.picture(re.sub(r"\W+", "-", f"{request.node.name}-{number}"))
    for visitor in visitors:
        visitor.close()
    for visitor in visitors:
        visitor.check()


def console_of(place):
    """The address of a stack's console; an address is one already."""
    return place if isinstance(place, str) else place.exports["NAGARE_CONSOLE_URL"]


class Served:
    """A running `nagare console` of a stack."""

    def __init__(self, stack, *args):
        self.process = subprocess.Popen(
            [e2e.NAGARE, "console", "--port", "0", *args], env=stack.env, stdout=subprocess.PIPE, text=True
        )
        self.said = self.process.stdout.readline()
        self.address = re.search(r"http://127\.0\.0\.1:\d+/console/\?token=\w+", self.said)[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(e2e.DEADLINE)
        self.process.stdout.close()


def menu(page, name):
    """Goes to a view by the menu."""
    page.get_by_role("navigation", name="Views").get_by_role("link", name=name, exact=True).click()


def arrive(page, view):
    """Waits for the page that a form leads to, until it has loaded. A reload before that would meet it on its way."""
    page.wait_for_url(re.compile(rf"/console/{view}(\?|$)"))


def timeline_of(page, viewer):
    """Goes to a timeline by its form."""
    menu(page, "Timeline")
    page.get_by_role("textbox", name="Viewer").fill(viewer)
    page.get_by_role("button", name="Read").click()


def command_form(page, type):
    """Goes to the form of a command, as the menu leads there."""
    menu(page, "Publish")
    choice = page.get_by_role("form", name="Type of command")
    choice.get_by_label("Command").select_option(type)
    choice.get_by_role("button").click()
    return page.get_by_role("form", name=type, exact=True)


def course(page):
    """What becomes of the command that was sent."""
    return page.get_by_role("region", name="What becomes of it")


def send_raw(page, body):
    """Sends a body by hand, whatever is wrong with it."""
    menu(page, "Publish")
    page.get_by_text("As JSON", exact=True).click()
    form = page.get_by_role("form", name="As JSON")
    form.get_by_label("Message body").fill(body)
    form.get_by_label("Send it even if it will be refused").check()
    form.get_by_role("button").click()
