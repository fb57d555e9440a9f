# SPDX-License-Identifier: MIT
"""examples/webgpu/, the page that runs kernels in a browser's WebGPU, in headless Chromium on its adapter in software: a
kernel of each family of ops is right there, of its default and of another geometry; a wrong result is told, and so is what
is missing.  Skipped where there is no Chromium, or none with WebGPU."""
import http.server
import json
import pathlib
import queue
import random
import shutil
import subprocess
import sys
import threading

from cli_support import Cli

PAGE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "webgpu"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SHAPES = {"q4k_matvec": "1x60x512", "q4k_matmul": "9x70x256", "matmul_f32": "33x65x70", "matmul_f16": "33x64x70",
          "softmax": "7x1009", "rmsnorm": "5x1000", "layernorm": "5x1000", "reduce2d_sum": "37x112",
          "elementwise_gelu_f32": "30x100", "attention_decode_f16": "1x130x64,h4/2",
          "attention_prefill_f16": "19x130x64,h4/2,causal"}


def serve(folder, reports):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def do_POST(self):
            reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def end_headers(self):
            self.send_header("Cache-Control", "no-store")  # files change below the page
            super().end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def opened(cli, server, reports, kernels):
    """What the page reports of KERNELS."""
    names = ",".join(f"kernels/{name}.json" for name in kernels)
    with open(cli.scratch / "chromium.log", "w", encoding="utf-8") as log:
        browser = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--enable-unsafe-webgpu",
             "--use-webgpu-adapter=swiftshader", f"--user-data-dir={cli.scratch / 'profile'}",
             f"http://127.0.0.1:{server.server_port}/index.html?report=/report&kernels={names}"], stdout=log, stderr=log)
        try:
            return reports.get(timeout=150)
        except queue.Empty:
            cli.check(False, "the page reported nothing:\n" + (cli.scratch / "chromium.log").read_text()[-2000:])
        finally:
            browser.kill()
            browser.wait()


def main():
    cli = Cli()
    if not CHROMIUM:
        print("SKIPPED: there is no Chromium here (Debian: apt install chromium)")
        sys.exit(77)
    for file in PAGE.iterdir():
        shutil.copy(file, cli.scratch)
    kernels, reports = cli.scratch / "kernels", queue.Queue()
    server = serve(cli.scratch, reports)
    for op, shape in SHAPES.items():
        cli.run("wgsl", "--op", op, "--shape", shape, "--db", cli.scratch / "none.db", "--out", kernels, "--case")
    report = opened(cli, server, reports, SHAPES)
    if "no adapter" in (report["failure"] or ""):
        print("SKIPPED: " + report["failure"])
        sys.exit(77)
    cli.check(report["failure"] is None, report)
    cli.check([result["op"] for result in report["results"]] == list(SHAPES), report)
    for result in report["results"]:
        cli.check(result["right"] and result["us"] > 0, result)
    cli.check(any(result["ratio"] > 0 for result in report["results"]), "no result differs at all from the reference")

    # Another geometry of each, as a sweep tries them.
    drawn = random.Random(7)
    for op, shape in SHAPES.items():
        problem = ("--op", op, "--shape", shape, "--device", "wgpu:portable")
        geometry = drawn.choice(cli.run("space", *problem).stdout.split())
        cli.run("wgsl", *problem, "--geometry", geometry, "--out", kernels, "--case")
    report = opened(cli, server, reports, SHAPES)
    cli.check(report["failure"] is None and all(result["right"] for result in report["results"]), report)

    right = kernels / "softmax.y.right.f32"
    right.write_bytes(right.read_bytes()[:-4] + b"\0\0\0\x40")
    report = opened(cli, server, reports, ["rmsnorm", "softmax"])
    cli.check([result["right"] for result in report["results"]] == [True, False], report)
    (kernels / "rmsnorm.wgsl").unlink()
    report = opened(cli, server, reports, ["rmsnorm"])
    cli.check("rmsnorm.wgsl is not there (404)" in report["failure"], report)
    cli.done()


main()
