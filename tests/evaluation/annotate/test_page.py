"""The annotation page in a real browser, over real HTTP, and what its server refuses.

Tests that need the browser are skipped where Debian's packages chromium and chromium-driver are not installed.
"""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread

import pytest
import uvicorn
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from prospection.evaluation.annotate.app import build_app
from prospection.evaluation.annotate.box import BallotBox
from prospection.evaluation.judge.agreement import majority
from prospection.evaluation.judge.ballots import read_labels
from prospection.evaluation.judge.pairs import Pair

CHROMIUM = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
]

ANSWERS = (
    "**Book the clinic first.**\n\nYour mother has dialysis on Mondays.\n\n1. Call Rome\n2. Then the flight\n\n- rest",
    "Italy is lovely in May. <script>document.title = 'broken'</script> Start in Rome & go north.",
)


@pytest.fixture
def box(tmp_path: Path) -> BallotBox:
    pairs = [
        Pair(id=f"p{n}", dataset="d", user="u", query=f"Plan trip {n}", a=ANSWERS[0], b=ANSWERS[1], names=("pgr", "m"))
        for n in range(3)
    ]
    return BallotBox(pairs, tmp_path / "pairs.db")


@pytest.fixture
def port(box: BallotBox) -> Iterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(build_app(box), log_level="warning", access_log=False))
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    found, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if found is None or driver is None:
        pytest.skip("needs a browser: apt-get install chromium chromium-driver")
    options = ChromeOptions()
    options.binary_location = found
    for flag in (*CHROMIUM, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = Chrome(options=options, service=ChromeService(driver))
    yield opened
    opened.quit()


class Page:
    """What an annotator does and sees."""

    def __init__(self, browser: Chrome, link: str) -> None:
        self.browser = browser
        browser.get(link)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.browser.switch_to.active_element.send_keys(key)

    def reads(self, text: str, where: str = "count") -> None:
        WebDriverWait(self.browser, 10).until(lambda _: text in self.browser.find_element(By.ID, where).text)

    def shown(self, where: str) -> bool:
        return self.browser.find_element(By.ID, where).is_displayed()


def test_an_annotator_works_with_the_keyboard_alone(box: BallotBox, port: int, browser: Chrome, tmp_path: Path) -> None:
    page = Page(browser, f"http://127.0.0.1:{port}/{box.key}/")
    page.press("Ada", Keys.ENTER)
    page.reads("0 of 3")
    assert page.shown("compare")
    assert browser.find_element(By.ID, "query").text == box.screen("Ada").query
    page.press("1")
    page.reads("1 of 3")
    page.press(Keys.ARROW_RIGHT)
    page.reads("2 of 3")
    page.press(Keys.ARROW_DOWN)  # scrolls, never votes
    page.press("u")
    page.reads("1 of 3")
    assert browser.find_element(By.ID, "said").get_attribute("textContent") == "Taken back."
    page.press("2")
    page.reads("2 of 3")
    page.press("3")
    page.reads("3 of 3")
    assert page.shown("finished")
    sides = [(row[2], row[3]) for row in box.rows()]
    assert sides[0][0] == sides[0][1]  # left was preferred
    assert sides[1][0] == "tie"
    assert {sides[2][0], sides[2][1]} == {"a", "b"}  # right was preferred

    reply = fetch(port, str(browser.find_element(By.ID, "export").get_attribute("href")).partition(str(port))[2])
    (tmp_path / "labels.csv").write_text(reply[1])
    assert len(majority(read_labels(tmp_path / "labels.csv"))) == 3
    assert "pgr" not in reply[1]


def test_it_goes_on_under_the_same_name_and_others_have_their_own(box: BallotBox, port: int, browser: Chrome) -> None:
    link = f"http://127.0.0.1:{port}/{box.key}/"
    page = Page(browser, f"{link}?name=Ada")
    page.reads("0 of 3")
    browser.find_element(By.CSS_SELECTOR, "[data-choice=tie]").click()
    page.reads("1 of 3")
    Page(browser, f"{link}?name=Bo").reads("0 of 3")
    Page(browser, f"{link}?name=Ada").reads("1 of 3")


def test_answers_are_shown_as_text_with_little_markdown(box: BallotBox, port: int, browser: Chrome) -> None:
    page = Page(browser, f"http://127.0.0.1:{port}/{box.key}/?name=Ada")
    page.reads("0 of 3")
    left = box.screen("Ada").left == ANSWERS[0]
    good, plain = ("left", "right") if left else ("right", "left")
    assert browser.find_element(By.CSS_SELECTOR, f"#{good} strong").text == "Book the clinic first."
    assert len(browser.find_elements(By.CSS_SELECTOR, f"#{good} ol li")) == 2
    assert "<script>document.title" in browser.find_element(By.CSS_SELECTOR, f"#{plain} .text").text
    assert browser.title == "Which answer helps more?"
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]
    assert [entry for entry in log if entry["level"] == "SEVERE"] == []


def test_a_lost_server_is_said_and_nothing_moves_on(box: BallotBox, port: int, browser: Chrome) -> None:
    page = Page(browser, f"http://127.0.0.1:{port}/{box.key}/?name=Ada")
    page.reads("0 of 3")
    browser.execute_cdp_cmd("Network.enable", {})
    conditions = {"latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**conditions, "offline": True})
    page.press("1")
    page.reads("not saved", "trouble")
    browser.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1, "offline": False},
    )
    page.press("1")
    page.reads("1 of 3")
    assert not page.shown("trouble")
    browser.get_log("browser")  # type: ignore[no-untyped-call] # the failed request stands there, as it should


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(box: BallotBox, port: int, browser: Chrome, scheme: str) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    page = Page(browser, f"http://127.0.0.1:{port}/{box.key}/?name=Ada")
    page.reads("0 of 3")
    for selector, behind in (("#query", "body"), ("#left .text", "#left"), ("#count", "body"), ("#left h2", "#left")):
        assert browser.execute_script(CONTRAST, selector, behind) >= 4.5, selector


def test_strangers_and_what_is_not_json_are_refused(box: BallotBox, port: int) -> None:
    verdict = json.dumps({"annotator": "ada", "pair": "p0", "choice": "left", "seconds": 2})
    jsons = {"Content-Type": "application/json"}
    assert fetch(port, "/wrong/")[0] == 404
    assert fetch(port, f"/{box.key}/screen?annotator=ada", headers={"Host": "evil.example"})[0] == 400
    path = f"/{box.key}/verdict"
    assert fetch(port, path, verdict, {"Content-Type": "text/plain"})[0] == 415
    assert fetch(port, path, verdict * 99, jsons)[0] == 413
    assert fetch(port, path, '{"annotator": "ada"}', jsons)[0] == 400
    assert fetch(port, path, verdict.replace("p0", "zz"), jsons)[0] == 400
    assert fetch(port, f"/{box.key}/screen")[0] == 400
    assert box.rows() == []
    status, body = fetch(port, path, verdict, jsons)
    assert (status, json.loads(body)["done"]) == (200, 1)
    assert "pgr" not in body


def fetch(port: int, path: str, body: str | None = None, headers: dict[str, str] | None = None) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET" if body is None else "POST", path, body, headers or {})
    reply = connection.getresponse()
    text = reply.read().decode()
    assert "default-src 'none'" in reply.headers.get("Content-Security-Policy", "default-src 'none'")
    connection.close()
    return reply.status, text


CONTRAST = """
const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
const light = (text) => rgb(text)
  .map((value) => value / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, place) => sum + v * [0.2126, 0.7152, 0.0722][place], 0);
const ink = light(getComputedStyle(document.querySelector(arguments[0])).color);
const paper = light(getComputedStyle(document.querySelector(arguments[1])).backgroundColor);
return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
"""
