# SPDX-License-Identifier: MIT
"""HTML reports in headless Chromium, at two widths: no script fails, nothing is asked of a network, all plots are there,
and nothing is wider than the window.  Skipped where there is no Chromium."""
import json
import re
import shutil
import subprocess
import sys

from html_pages import D3, PLOTS, databases, page

from cli_support import Cli

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Does what a reader may do, then notes what came of it.
EXERCISE = """<script>
document.querySelectorAll(".plot button, th button").forEach(function (b) { b.click(); });
document.querySelectorAll(".progress svg").forEach(function (s) {
	var box = s.getBoundingClientRect();
	s.dispatchEvent(new MouseEvent("mousemove", {clientX: box.x + box.width / 2, clientY: box.y + 60}));
	["+", "ArrowLeft", "0"].forEach(function (k) { s.dispatchEvent(new KeyboardEvent("keydown", {key: k})); });
});
var input = document.querySelector("#tools input"), hidden = 0;
if (input) {
	input.value = "hot"; input.dispatchEvent(new Event("input"));
	hidden = document.querySelectorAll("tr[data-row][style*=none]").length;
	input.value = ""; input.dispatchEvent(new Event("input"));
}
var cells = Array.from(document.querySelectorAll(".summary td"));
document.body.setAttribute("data-seen", JSON.stringify({cells: cells.length, cut: cells.filter(function (c) {
	var box = c.getBoundingClientRect();
	return box.right > innerWidth || box.width === 0 || c.scrollWidth > c.clientWidth + 1;
}).length, wide: document.documentElement.scrollWidth, window: innerWidth,
	hidden: hidden, buttons: document.querySelectorAll(".plot button").length}));
</script>"""


def opened(cli, path, width, extra=""):
    """The page after scripts, what the console said, and the addresses that were asked for."""
    copy, log = cli.scratch / "opened.html", cli.scratch / "net.json"
    copy.write_text(path.read_text() + EXERCISE + extra)
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
               "--disable-background-networking", "--disable-component-update", "--no-first-run", f"--user-data-dir={cli.scratch / 'profile'}",
               "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", f"--log-net-log={log}",
               f"--window-size={width},1200", "--dump-dom", copy.as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    console = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    # Of the page's own requests; the browser's, to its maker, are none of the page's.
    asked = [url for url in re.findall(r'"url":"([^"]+)"', log.read_text()) if "report-probe" in url]
    cli.check("</html>" in result.stdout, f"{path}: Chromium gave no page:\n{result.stderr[-2000:]}")
    return result.stdout, console, asked


def check_opened(cli, path, width, rows, has_library):
    dom, console, _ = opened(cli, path, width)
    cli.check(not console, f"{path} at {width}: {console}")
    cli.check(set(re.findall(r'<figure class="plot (\w+)', dom)) == PLOTS, f"{path}: plots are missing")
    seen = json.loads(re.search(r'data-seen="([^"]+)"', dom).group(1).replace("&quot;", '"'))
    cli.check(seen["wide"] <= seen["window"], f"{path}: {seen['wide']} wide in a window of {seen['window']}")
    cli.check(seen["cells"] and not seen["cut"], f"{path} at {width}: {seen['cut']} of {seen['cells']} cells of the table are cut")
    cli.check(("data-library=" in dom) == has_library and (seen["buttons"] > 0) == has_library, f"{path}: {seen}")
    cli.check(seen["hidden"] == (rows // 2 if has_library else 0), f"{path}: the filter hides {seen['hidden']} of {rows}")


def main():
    if not CHROMIUM:
        print("skipped: there is no chromium (Debian: apt install chromium)")
        sys.exit(77)
    cli = Cli()
    good, bad = databases(cli)
    rows = len(cli.json("report", "--db", good, schema="report")["best"])
    plain = page(cli, good, "plain.html", "/nonexistent")
    # What this test could miss: an error of a script, and a request, are seen.
    _, console, asked = opened(cli, plain, 1400, "<script>throw 1</script>")
    cli.check(any("Uncaught 1" in line for line in console), f"an error of a script is not seen: {console}")
    free = cli.scratch / "free.html"
    free.write_text(re.sub("<meta http-equiv[^>]*>", "", plain.read_text()))
    probe = '<img src="http://report-probe.invalid/x.png">'
    cli.check(opened(cli, free, 1400, probe)[2], "a request is not seen")
    # With the page's own policy not even that one leaves.
    _, console, asked = opened(cli, plain, 1400, probe)
    cli.check(not asked and any("Content Security Policy" in line for line in console), f"{asked} {console}")
    for width in (400, 1400):
        check_opened(cli, plain, width, rows, False)
        check_opened(cli, page(cli, bad, "hostile.html", "/nonexistent"), width, rows, False)
        if D3.exists():
            check_opened(cli, page(cli, good, "d3.html"), width, rows, True)
            check_opened(cli, page(cli, bad, "hostile-d3.html"), width, rows, True)
    if not D3.exists():
        print("without D3 (Debian: apt install libjs-d3): pages without a library alone were opened")
    cli.done()


if __name__ == "__main__":
    main()
