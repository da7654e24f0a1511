"""What an analyst and an owner do with the pages, in a real browser.

Every page on the way is looked at by axe, small and light, large and dark; nothing may be cut off,
and nothing may break the policy of the pages. WINNOW_SCREENSHOTS=FOLDER keeps pictures of them;
docs/figures/serve_plan.png and serve_owner.png are those of plan and owner-dataset at 1280, light.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import winnow as wn
from serve.served import free_port
from winnow.serve.demo import Demo, prepare

pytestmark = pytest.mark.extras
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
SHOTS = Path(os.environ["WINNOW_SCREENSHOTS"]) if "WINNOW_SCREENSHOTS" in os.environ else None


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    made = prepare(tmp_path_factory.mktemp("demo"), port=free_port(), quantum_ms=20)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if BROWSER is None:
        pytest.skip("there is no browser; get one with: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


FOCUSED = """() => {
    const found = document.activeElement;
    if (!found || found === document.body) return ["", true];
    const labels = found.labels && found.labels.length ? found.labels[0] : found;
    const name = found.getAttribute("aria-label") ?? (found.querySelector("b") ?? labels).innerText;
    const style = getComputedStyle(found), box = found.getBoundingClientRect();
    const seen = box.top < innerHeight && box.bottom > 0 && box.width > 0;
    return [name.trim(), seen && (style.outlineStyle !== "none" || style.boxShadow !== "none")];
}"""
"""What has the focus, by its name, and whether that is to be seen."""


OUT_OF_FRAME = """() => [...document.querySelectorAll("svg.plot")].flatMap(plot => {
    const frame = plot.getBoundingClientRect();
    return [...plot.querySelectorAll("text")].filter(text => {
        const box = text.getBoundingClientRect();
        return box.left < frame.left - 1 || box.right > frame.right + 1;
    }).map(text => text.textContent);
})"""
"""Texts of plots that are cut off."""


@dataclass
class Visitor:
    """A window of the browser, and what it complained about."""

    page: Any
    origin: str
    said: list[str] = field(default_factory=list)

    def go(self, path: str) -> None:
        self.page.goto(self.origin + path)

    def look(self, name: str) -> None:
        """Nothing is cut off, and axe finds nothing: small and light, large and dark."""
        from axe_playwright_python.sync_playwright import Axe

        for width, scheme in ((380, "light"), (1280, "dark")):
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.emulate_media(color_scheme=scheme)
            cut = self.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert cut == 0, f"{name} is {cut} pixels too wide at {width}"
            assert self.page.evaluate(OUT_OF_FRAME) == [], f"{name}: labels are cut off"
            found = Axe().run(self.page)
            assert found.violations_count == 0, f"{name}: {found.generate_report()}"
            self._keep(f"{name}-{width}-{scheme}")
        self.page.emulate_media(color_scheme="light")
        self._keep(f"{name}-1280-light")
        assert not self.said, self.said

    def _keep(self, name: str) -> None:
        if SHOTS is not None:
            self.page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=True)

    def log_in(self, token: str) -> None:
        """By the keyboard alone: the first stop skips to the content."""
        self.go("/login")
        self.page.keyboard.press("Tab")
        assert self.page.evaluate("document.activeElement.textContent") == "Skip to the content"
        self.page.keyboard.press("Enter")
        self.page.keyboard.press("Tab")
        assert self.page.evaluate("document.activeElement.id") == "token"
        self.page.keyboard.type(token)
        self.page.keyboard.press("Enter")
        self.page.get_by_role("heading", name="Datasets", exact=True).wait_for()

    def keys(self, *names: str) -> None:
        for name in names:
            self.page.keyboard.press(name)

    def tab(self, name: str) -> None:
        """Press Tab until something of this name has the focus; where the focus is, it shows."""
        for _ in range(120):
            self.page.keyboard.press("Tab")
            found, shows = self.page.evaluate(FOCUSED)
            assert shows or found == "", f"nobody sees that the focus is on {found!r}"
            if found == name:
                return
        raise AssertionError(f"Tab does not lead to {name!r}")

    def enter(self, name: str) -> None:
        self.tab(name)
        self.page.keyboard.press("Enter")

    def write(self, name: str, text: str) -> None:
        self.tab(name)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def click(self, role: str, name: str) -> None:
        self.page.get_by_role(role, name=name, exact=True).first.click()

    def wait(self, selector: str) -> None:
        self.page.wait_for_selector(selector, timeout=60_000)


@contextmanager
def window(chromium: Any, demo: Demo) -> Iterator[Visitor]:
    context = chromium.new_context()
    page = context.new_page()
    visitor = Visitor(page, demo.service.config.origin)
    page.on("pageerror", lambda error: visitor.said.append(str(error)))
    page.on(
        "console",
        lambda line: (
            visitor.said.append(line.text)
            if "Content Security" in line.text or "htmx" in line.text
            else None
        ),
    )
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(visitor.origin)
            else visitor.said.append(f"asked for {request.url}")
        ),
    )
    try:
        yield visitor
    finally:
        context.close()


def test_an_analyst_plans_confirms_and_reads(chromium: Any, demo: Demo) -> None:
    with window(chromium, demo) as analyst:
        page = analyst.page
        analyst.go("/")
        analyst.look("login")
        analyst.log_in(demo.tokens["ann"])
        analyst.look("datasets")
        analyst.click("link", "people")
        analyst.wait("#schema-head")
        analyst.look("dataset")
        page.locator("a[href$='kind=tabulate']").click()
        page.get_by_label("home").check()
        page.get_by_label("garden").check()
        page.get_by_label("Epsilon", exact=True).fill("0.3")
        page.keyboard.press("Enter")  # htmx sends the form, and fetches the plan alone
        analyst.wait("#plan .plot")
        assert page.url.endswith("kind=tabulate")
        analyst.look("plan")
        analyst.click("button", "Spend it and release")
        analyst.wait("#release")
        place = page.url
        analyst.wait("#receipt-head")  # by itself, at its public time
        assert page.url == place
        page.locator("summary", has_text="As a table").first.click()
        analyst.look("release")
        with page.expect_download() as started:
            analyst.click("link", "Download table.csv")
        assert Path(started.value.path()).read_text().startswith("home,garden,")

        analyst.go("/datasets/birds/compose?kind=top-k")
        analyst.click("button", "Show what to expect")
        analyst.wait("#plan dl")
        analyst.click("button", "Spend it and release")
        analyst.wait("#receipt-head")
        analyst.look("top")

        analyst.go("/datasets/people/compose?kind=select")
        page.get_by_label("Epsilon", exact=True).fill("400")
        analyst.click("button", "Show what to expect")
        analyst.wait("#plan [role=alert]")
        analyst.look("refused")

        analyst.go("/datasets/people/questions")
        analyst.click("button", "Ask")
        analyst.wait("#answer [role=alert]")
        page.get_by_label("flat").check()
        analyst.click("button", "Ask")
        analyst.wait("#answer .plot")
        first = page.locator("#answer .big").inner_text()
        page.get_by_label("house").check()
        analyst.click("button", "Ask")
        page.get_by_text("home in").first.wait_for()
        assert page.locator("#answer .big").inner_text() != ""
        assert first.endswith("rows")
        analyst.look("answer")

        analyst.go("/history")
        analyst.look("history")
        analyst.go("/tokens")
        page.get_by_text("The token does not allow this").first.wait_for()
        analyst.look("not-allowed")
        analyst.click("button", "Log out")
        analyst.wait("#token")


def test_an_owner_watches_shares_and_verifies(chromium: Any, demo: Demo) -> None:
    for who, epsilon in (("ann", 0.8), ("bob", 1.2), ("ann", 0.5)):
        analyst = wn.connect(demo.address, token=demo.tokens[who])
        analyst.select("people", column="home", epsilon=epsilon)
    with window(chromium, demo) as owner:
        page = owner.page
        owner.log_in(demo.tokens["olga"])
        owner.look("owner-datasets")
        owner.click("link", "people")
        owner.wait("#spending-head")
        page.get_by_label("Analyst", exact=True).first.fill("ann")
        page.get_by_label("Percent of the cap").fill("55")
        owner.click("button", "Set share")
        page.get_by_role("cell", name="55 %").wait_for()
        owner.look("owner-dataset")
        owner.click("link", "Tokens")
        page.get_by_label("Name", exact=True).fill("carol")
        page.get_by_label("birds").check()
        owner.click("button", "Make a token")
        owner.wait("#new-token")
        token = page.locator("#new-token").inner_text()
        assert demo.service.accounts.principal(token) is not None
        page.evaluate("document.getElementById('new-token').textContent = 'wnw_' + 'x'.repeat(43)")
        owner.look("owner-tokens")
        page.get_by_role("row", name="carol").get_by_role("button").click()
        page.get_by_role("row", name="carol").get_by_text("ended").wait_for()
        owner.click("link", "Ledger")
        owner.click("button", "Verify")
        page.get_by_role("status").wait_for()
        owner.look("owner-ledger")
        owner.click("link", "Audit log")
        page.get_by_text("token revoke").first.wait_for()
        owner.look("owner-audit")
        owner.click("link", "History")
        page.get_by_role("heading", name="Questions").wait_for()
        owner.look("owner-history")


def test_an_analyst_needs_the_keyboard_alone(chromium: Any, demo: Demo) -> None:
    with window(chromium, demo) as analyst:
        page = analyst.page
        analyst.log_in(demo.tokens["bob"])
        analyst.enter("people")
        analyst.wait("#schema-head")
        analyst.enter("Tables")
        analyst.wait("#plan")
        analyst.tab("home")
        analyst.keys("Space")
        analyst.write("Epsilon", "0.2")
        analyst.keys("Enter")
        analyst.wait("#plan .plot")
        analyst.enter("Spend it and release")
        analyst.wait("#receipt-head")
        with page.expect_download() as started:
            analyst.enter("Download table.csv")
        assert Path(started.value.path()).read_text().startswith("home,estimate")
        analyst.enter("As a table")
        analyst.wait("details[open] table")
        analyst.go("/datasets/people")
        analyst.enter("Ask a question")
        analyst.wait("#answer")
        analyst.tab("flat")
        analyst.keys("Space")
        analyst.enter("Ask")
        analyst.wait("#answer .plot")
        analyst.keys("Shift+Tab")
        analyst.go("/")
        analyst.enter("History")
        page.get_by_role("heading", name="Questions").wait_for()
        analyst.enter("Log out")
        analyst.wait("#token")
        assert not analyst.said


def test_an_owner_needs_the_keyboard_alone(chromium: Any, demo: Demo) -> None:
    with window(chromium, demo) as owner:
        page = owner.page
        owner.log_in(demo.tokens["olga"])
        owner.enter("people")
        owner.wait("#shares")
        owner.write("Analyst", "bob")
        owner.write("Percent of the cap", "35")
        owner.keys("Enter")
        page.get_by_role("cell", name="35 %").wait_for()
        owner.go("/")
        owner.enter("Tokens")
        owner.wait("#new-head")
        owner.write("Name", "dora")
        owner.tab("birds")
        owner.keys("Space")
        owner.enter("Make a token")
        owner.wait("#new-token")
        name = (
            page.get_by_role("row", name="dora").get_by_role("button").get_attribute("aria-label")
        )
        owner.enter(name)
        page.get_by_role("row", name="dora").get_by_text("ended").wait_for()
        owner.enter("Ledger")
        page.get_by_role("heading", name="Ledger").wait_for()
        owner.enter("Verify")
        page.get_by_role("status").wait_for()
        owner.enter("Audit log")
        page.get_by_text("token revoke").first.wait_for()
        owner.enter("Log out")
        owner.wait("#token")
        assert not owner.said
