"""How large the first page is, and how fast it is shown: `tests/console/run.sh first-page`. By the browser's own clock."""

import statistics

from conftest import CHROMIUM, FLAGS, Visitor, console_of, e2e
from playwright.sync_api import sync_playwright

TIMES = 20
READ = """() => new Promise(done => new PerformanceObserver(all => {
    const page = performance.getEntriesByType("navigation")[0];
    const paint = all.getEntriesByName("first-contentful-paint")[0];
    if (paint) done({answer: page.responseEnd, ready: page.domContentLoadedEventEnd, shown: paint.startTime});
}).observe({type: "paint", buffered: true}))"""


def main():
    measured, size = [], 0
    with e2e.Stack("--sample") as stack, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for _ in range(TIMES):
            # A profile of its own: nothing is in a cache.
            person = Visitor(browser, console_of(stack))
            page, answers = person.context.new_page(), []
            page.on("response", lambda answer: answers.append(answer))
            page.goto(person.address)
            measured.append(page.evaluate(READ))
            size = sum(len(answer.body()) for answer in answers)
            person.close()
        browser.close()
    print(f"{size} bytes in {TIMES} visits without a cache; milliseconds from the click on:")
    for name in measured[0]:
        times = sorted(one[name] for one in measured)
        print(f"{name:>7}: median {statistics.median(times):.0f}, slowest {times[-1]:.0f}")


if __name__ == "__main__":
    main()
