#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The plug-in in the ggml of the wheel pywhispercpp, interface version 2: it is loaded, its device is listed, a backend
of it starts and ends, and a ggml whose version it does not know goes on without it."""
import argparse
import ctypes
import pathlib
import subprocess
import sys


def find(wheels, name):
    found = sorted((wheels / "pywhispercpp.libs").glob(name))
    assert len(found) == 1, f"{name}: {found}"
    return found[0]


def inside(plugin, wheels):
    """In a process of its own: what is printed is what the test looks at."""
    sys.path.insert(0, str(wheels))
    import _pywhispercpp  # noqa: F401  the program that is plugged into

    ggml = ctypes.CDLL(str(find(wheels, "libggml-????????.so.*")))
    base = ctypes.CDLL(str(find(wheels, "libggml-base-*.so.*")))
    for name in ("ggml_backend_load", "ggml_backend_dev_by_name", "ggml_backend_reg_dev_get"):
        getattr(ggml, name).restype = ctypes.c_void_p
    for name in ("ggml_backend_dev_init", "ggml_backend_get_default_buffer_type", "ggml_backend_cpu_buffer_type",
                 "ggml_backend_dev_buffer_type", "ggml_backend_buft_alloc_buffer"):
        getattr(base, name).restype = ctypes.c_void_p
    base.ggml_backend_buffer_get_size.restype = ctypes.c_size_t
    assert ggml.ggml_backend_load(str(plugin).encode()), "not loaded"
    device = ggml.ggml_backend_dev_by_name(b"tcbtune")
    assert device, "no device"
    assert base.ggml_backend_dev_type(ctypes.c_void_p(device)) == 3, "not an accelerator"
    backend = base.ggml_backend_dev_init(ctypes.c_void_p(device), None)
    assert backend, "no backend"
    assert base.ggml_backend_get_default_buffer_type(ctypes.c_void_p(backend)) == base.ggml_backend_cpu_buffer_type()
    own = ctypes.c_void_p(base.ggml_backend_dev_buffer_type(ctypes.c_void_p(device)))
    assert not base.ggml_backend_buft_is_host(own)
    buffer = base.ggml_backend_buft_alloc_buffer(own, ctypes.c_size_t(1 << 20))
    assert base.ggml_backend_buffer_get_size(ctypes.c_void_p(buffer)) == 1 << 20
    base.ggml_backend_buffer_free(ctypes.c_void_p(buffer))
    base.ggml_backend_free(ctypes.c_void_p(backend))
    print("sound")


def main():
    parser = argparse.ArgumentParser()
    for name in ("plugin", "wheels", "work"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--inside", action="store_true")
    args = parser.parse_args()
    if args.inside:
        inside(args.plugin, args.wheels)
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
