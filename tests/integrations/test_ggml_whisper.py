#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The plug-in in the ggml of the wheel pywhispercpp, the second generation of the interface: it is loaded, its device is
listed, a backend of it starts and ends, products, mixtures and rows of it are those of ggml's own CPU backend, and
weights are given back.  The graphs are made here, with ggml's functions: the wheel's own loader puts weights into
buffers of GPUs and CPUs only (whisper.cpp, make_buft_list), never into those of an accelerator."""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "integrations/ggml"))
import ggml_calls  # noqa: E402


def inside(plugin, wheels):
    """In a process of its own: what is printed is what the test looks at."""
    ggml = ggml_calls.open_wheel(wheels, "pywhispercpp")
    host = ggml_calls.Host(ggml, plugin)
    assert not host.refused, "not loaded"
    assert ggml.ggml_backend_dev_type(host.device) == ggml_calls.ACCELERATOR, "not an accelerator"
    assert ggml.ggml_backend_get_default_buffer_type(host.backend) == ggml.ggml_backend_cpu_buffer_type()
    assert not ggml.ggml_backend_buft_is_host(host.own)
    buffer = ggml_calls.pointer(ggml.ggml_backend_buft_alloc_buffer(host.own, 1 << 20))
    assert ggml.ggml_backend_buffer_get_size(buffer) == 1 << 20
    ggml.ggml_backend_buffer_free(buffer)
    ggml_calls.check(host)
    assert all(host.counter(name) > 0 for name in ("products", "experts", "rows", "attention", "left"))
    assert host.counter("refused") == 0
    host.close()
    print("sound")


def main():
    parser = argparse.ArgumentParser()
    for name in ("plugin", "wheels", "work"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--inside", action="store_true")
    args = parser.parse_args()
    if args.inside:
        inside(args.plugin.resolve(), args.wheels)
        return
    if not (args.wheels / "pywhispercpp.libs").is_dir():
        print("SKIPPED: the wheel is not here; scripts/fetch-ggml-hosts.sh fetches it")
        sys.exit(77)
    run = subprocess.run([sys.executable, *sys.argv, "--inside"], capture_output=True, text=True)
    print(run.stdout, run.stderr)
    assert run.returncode == 0 and "sound" in run.stdout
    assert "tcbtune for ggml: in ggml 0.13.1" in run.stderr and "OpenMP" in run.stderr


if __name__ == "__main__":
    main()
