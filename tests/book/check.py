"""What mdBook does not look at: whether every page is in the book, and whether links between pages, and to headings, lead somewhere.

Reads the sources and what `mdbook build` has made of them (target/book). Links out of docs/ are looked up in the repository.
"""

import re
import sys
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS, BOOK = ROOT / "docs", ROOT / "target/book"
PAGES = sorted(DOCS.glob("*.md"))
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def without_code(text):
    text = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def anchor(heading):
    """The id that a heading gets, at GitHub and in the book alike."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page):
    text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def problems(pages):
    summary = (DOCS / "SUMMARY.md").read_text(encoding="utf-8")
    for page in PAGES:
        if page.name != "SUMMARY.md" and f"({page.name})" not in summary:
            yield f"docs/SUMMARY.md lacks {page.name}"
        made = BOOK / ("index.html" if page.name == "README.md" else page.with_suffix(".html").name)
        if page.name != "SUMMARY.md" and not made.exists():
            yield f"{made.relative_to(ROOT)} was not made"
    for page in pages:
        for link, picture in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
            target = urllib.parse.unquote(link or picture)
            if re.match(r"[a-z]+:", target):
                continue
            path, _, heading = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                yield f"{page.relative_to(ROOT)}: {target} is not there"
            elif heading and file.suffix == ".md" and heading not in anchors(file):
                yield f"{page.relative_to(ROOT)}: {target} has no such heading"


def main():
    pages = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / ".github/SECURITY.md"]
    found = list(problems(pages))
    for problem in found:
        print(problem)
    print(f"{len(pages)} pages, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
