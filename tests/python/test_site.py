"""scripts/site: the documents as a site, also as a browser shows them. Skipped without Doxygen; with
TENDRIL_TEST_EXTRAS in the environment there must be one, and Chromium."""

import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTRAS = bool(os.environ.get("TENDRIL_TEST_EXTRAS"))
BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
DARK, LIGHT = 0, 1  # of Chromium's setting
DESKTOP, PHONE = 1280, 390  # pixels
# Loads each page in a frame of each width, and leaves what is seen there as JSON.
PROBE = """<!doctype html><meta charset="utf-8"><pre id="seen"></pre><script>
const frame = document.body.appendChild(document.createElement("iframe"));
const look = (page, width) => new Promise(done => {
  frame.onload = () => setTimeout(() => {
    const shown = frame.contentDocument;
    const overflowing = [...shown.querySelectorAll("article *")].filter(
      e => e.getBoundingClientRect().right > width + 1 && !e.closest("table, pre, .md-typeset__scrollwrap"));
    done({page, width, title: shown.title, scheme: shown.body.dataset.mdColorScheme,
          background: getComputedStyle(shown.body).backgroundColor,
          scrolls: shown.documentElement.scrollWidth > width,
          overflowing: overflowing.slice(0, 3).map(e => e.outerHTML.slice(0, 80)),
          broken: [...shown.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)});
  }, 50);
  frame.style = `width: ${width}px; height: 800px; border: 0`;
  frame.src = page;
});
(async () => {
  const seen = [];
  for (const [page, width] of VIEWS) seen.push(await look(page, width));
  document.getElementById("seen").textContent = JSON.stringify(seen);
})();
</script>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if shutil.which("doxygen") is None and not EXTRAS:
        pytest.skip("no Doxygen")
    out = tmp_path_factory.mktemp("site") / "site"
    made = subprocess.run([ROOT / "scripts/site", "--out", out], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr  # a broken link fails
    return out


def test_site_has_all_documents_and_both_interfaces(site):
    for document in (ROOT / "docs").rglob("*.md"):
        name = "index.html" if document.name == "README.md" else f"{document.stem}.html"
        assert (site / document.relative_to(ROOT)).with_name(name).exists(), document
    python = (site / "api/python.html").read_text(encoding="utf-8")
    for name in ("tendril.ContinuumRobot.tip_pose", "tendril.load_scene", "tendril.sweep.Sweep"):
        assert f'id="{name}"' in python, name
    assert (site / "api/cpp/classtendril_1_1ContinuumRobot.html").exists()
    index = (site / "search/search_index.json").read_text(encoding="utf-8")
    assert "tip_jacobian" in index and "bending_stiffness" in index


def seen_in_browser(site, views, scheme, profile):
    """What PROBE sees of the views (page, width)."""
    (site / "probe.html").write_text(PROBE.replace("VIEWS", json.dumps(views)), encoding="utf-8")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            done = subprocess.run(
                [
                    BROWSER,
                    "--headless=old",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--no-first-run",
                    f"--user-data-dir={profile}",
                    f"--blink-settings=preferredColorScheme={scheme}",
                    f"--window-size={DESKTOP},900",
                    f"--virtual-time-budget={2000 * len(views)}",
                    "--dump-dom",
                    f"http://127.0.0.1:{server.server_port}/probe.html",
                ],
                capture_output=True,
                timeout=540,
            )
        finally:
            server.shutdown()
    found = re.search(r'<pre id="seen">(.+?)</pre>', done.stdout.decode(), re.DOTALL)
    assert found, done.stderr.decode()[-2000:]
    return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


@pytest.mark.parametrize(("scheme", "name"), [(LIGHT, "default"), (DARK, "slate")])
def test_pages_fit_desktop_and_phone(site, scheme, name, tmp_path):
    if BROWSER is None and not EXTRAS:
        pytest.skip("no Chromium")
    pages = ["index.html", *sorted(str(file.relative_to(site)) for file in (site / "docs").rglob("*.html"))]
    assert len(pages) > 25
    views = [(page, width) for page in pages for width in (DESKTOP, PHONE)]
    if scheme == DARK:
        views = views[:4]
    seen = seen_in_browser(site, views, scheme, tmp_path / "profile")
    assert [(view["page"], view["width"]) for view in seen] == views
    for view in seen:
        assert view["scheme"] == name and view["title"], view
        assert not view["broken"] and not view["scrolls"] and not view["overflowing"], view
    brightness = sum(map(int, re.findall(r"\d+", seen[0]["background"])[:3]))
    assert (brightness > 3 * 128) == (scheme == LIGHT), seen[0]["background"]
