# SPDX-License-Identifier: MIT
"""HTML reports in headless Chromium, at two widths: no script fails, nothing is asked of a network, all plots are there,
and nothing is wider than the window.  Skipped where there is no Chromium."""
import json
import re
import shutil
import subprocess
import sys

from html_pages import PLOTS, databases, page

from cli_support import Cli

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Does what a reader may do, then notes what came of it.
EXERCISE = """<script>
document.querySelectorAll(".plot button, th button").forEach(function (b) { b.click(); });
function press(s, k) { s.dispatchEvent(new KeyboardEvent("keydown", {key: k})); }
var first = document.querySelector(".progress svg"), whole = first.viewBox.baseVal.width;
press(first, "0"); press(first, "+"); press(first, "ArrowLeft");
var zoomed = first.viewBox.baseVal.width / whole;
press(first, "0");
var tip = "";
document.querySelectorAll("section[data-row='0'] .progress svg").forEach(function (s) {
	var box = s.getBoundingClientRect();
	for (var y = box.top; y < box.bottom && !tip; y += 8)
		for (var x = box.left; x < box.right && !tip; x += 8) {
			s.dispatchEvent(new MouseEvent("mousemove", {clientX: x, clientY: y}));
			tip = document.querySelector(".tip").style.display === "block" ? document.querySelector(".tip").textContent : "";
		}
});
var kept = -1, ties = 0, brush = Array.from(document.querySelectorAll(".ties svg")).find(function (s) {
	return s.querySelector(".ground"); });
if (brush) {
	ties = brush.querySelectorAll(".tie").length;
	brush.querySelectorAll(".ground").forEach(function (ground) {
		var b = ground.getBoundingClientRect(), y = b.y + b.height / 2;
		ground.setPointerCapture = function () {};
		[["pointerdown", 0], ["pointermove", 1], ["pointerup", 1]].forEach(function (e) {
			ground.dispatchEvent(new PointerEvent(e[0], {clientX: b.x + b.width * 0.49 + e[1], clientY: y})); });
	});
	kept = brush.querySelectorAll(".tie:not(.off)").length;
}
document.querySelector(".summary th button").click();
function column() { return Array.from(document.querySelectorAll(".summary tbody tr[data-row] td:first-child")).map(
	function (c) { return c.textContent; }); }
var up = column(); document.querySelector(".summary th button").click(); var down = column();
var is_sorted = JSON.stringify(up.slice().sort()) === JSON.stringify(down.slice().sort()) &&
	[up, down].some(function (c) { return JSON.stringify(c) === JSON.stringify(c.slice().sort(function (a, b) {
		return a.localeCompare(b); })); });
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
	zoomed: zoomed, whole: first.viewBox.baseVal.width === whole, tip: tip, kept: kept, ties: ties, sorted: is_sorted,
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


def check_opened(cli, path, width, rows):
    """What the script adds, and that it fails nowhere."""
    dom, console, _ = opened(cli, path, width)
    cli.check(not console, f"{path} at {width}: {console}")
    cli.check(set(re.findall(r'<figure class="plot (\w+)', dom)) == PLOTS, f"{path}: plots are missing")
    seen = json.loads(re.search(r'data-seen="([^"]+)"', dom).group(1).replace("&quot;", '"'))
    cli.check(seen["wide"] <= seen["window"], f"{path}: {seen['wide']} wide in a window of {seen['window']}")
    cli.check(seen["cells"] and not seen["cut"], f"{path} at {width}: {seen['cut']} of {seen['cells']} cells of the table are cut")
    cli.check("data-script=" in dom and seen["buttons"] > 0, f"{path}: the script did not end: {seen}")
    cli.check(seen["zoomed"] < 0.7 and seen["whole"], f"{path}: zooming: {seen}")
    cli.check(seen["tip"].startswith("trial "), f"{path}: no trial under the pointer: {seen['tip']}")
    cli.check(0 <= seen["kept"] < seen["ties"], f"{path}: a range of the tie set leaves {seen['kept']} of {seen['ties']}")
    cli.check(seen["sorted"], f"{path}: the table is not sorted by its first column")
    cli.check(seen["hidden"] == rows // 2, f"{path}: the filter hides {seen['hidden']} of {rows}")


def main():
    if not CHROMIUM:
        print("skipped: there is no chromium (Debian: apt install chromium)")
        sys.exit(77)
    cli = Cli()
    good, bad = databases(cli)
    rows = len(cli.json("report", "--db", good, schema="report")["best"])
    plain = page(cli, good, "plain.html")
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
        check_opened(cli, plain, width, rows)
        check_opened(cli, page(cli, bad, "hostile.html"), width, rows)
    cli.done()


if __name__ == "__main__":
    main()
