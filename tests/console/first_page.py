"""How large the first page is, and how fast it is shown: `tests/console/run.sh first-page`. By the browser's own clock."""

import statistics
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from conftest import CHROMIUM, FLAGS, Visitor, console_of, e2e
from playwright.sync_api import sync_playwright

TIMES = 20
READ = """() => new Promise(done => new PerformanceObserver(all => {
    const page = performance.getEntriesByType("navigation")[0];
    const paint = all.getEntriesByName("first-contentful-paint")[0];
    if (paint) done({answer: page.responseEnd, ready: page.domContentLoadedEventEnd, shown: paint.startTime});
}).observe({type: "paint", buffered: true}))"""


class Word(BaseHTTPRequestHandler):
    """A page of one word, and no more: what the browser takes to show anything at all."""

    def do_GET(self):
        body = b"<!doctype html><title>Word</title><link rel=icon href=data:,>Word"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def visited(browser, address):
    """When a page came, was ready and was shown, and its size, to somebody whose browser has a profile of its own: nothing is in a cache."""
    person = Visitor(browser, address)
    page, answers = person.context.new_page(), []
    page.on("response", lambda answer: answers.append(answer))
    page.goto(person.entrance)
    times = page.evaluate(READ)
    # The address with the secret leads to the page, and has none.
    size = sum(len(answer.body()) for answer in answers if answer.status == 200)
    person.close()
    return times, size


def report(what, visits):
    print(f"{what}, {visits[0][1]} bytes, in {TIMES} visits without a cache; milliseconds from the click on:")
    for name in visits[0][0]:
        times = sorted(times[name] for times, _ in visits)
        print(f"{name:>7}: median {statistics.median(times):.0f}, slowest {times[-1]:.0f}")


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Word)
    Thread(target=server.serve_forever, daemon=True).start()
    word = f"http://127.0.0.1:{server.server_port}/"
    with e2e.Stack("--sample") as stack, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        # In turns: what else the machine does meets both.
        visits = [(visited(browser, console_of(stack)), visited(browser, word)) for _ in range(TIMES)]
        browser.close()
    first_page, one_word = zip(*visits)
    report("First page", first_page)
    report("A page of one word", one_word)


if __name__ == "__main__":
    main()
