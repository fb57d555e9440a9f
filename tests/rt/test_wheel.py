# SPDX-License-Identifier: MIT
"""The wheel of this build, unpacked: a kernel in C is tuned from NumPy, what does not fit is refused, and libtcbrt
multiplies arrays.

    test_wheel.py SOURCE_DIR BUILD_DIR
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

SOURCE = """
void scale(const float *x, float *y, float factor, int n)
{
    for (int i = 0; i < n; i += STEP)
        for (int j = i; j < (i + STEP < n ? i + STEP : n); j++)
            y[j] = factor * x[j] + OFFSET;
}
"""


def expect(error, part, function, *arguments, **names):
    try:
        function(*arguments, **names)
    except error as found:
        assert part in str(found), f"'{part}' is not in '{found}'"
        return
    raise AssertionError(f"no {error.__name__} with '{part}'")


def tune(tcbtune):
    x = np.random.default_rng(1).uniform(1, 2, 5000).astype(np.float32)
    arguments, right = [x, np.zeros_like(x), np.float32(2.5), np.int32(x.size)], 2.5 * x
    names = {"answer": [None, right, None, None], "budget": 20, "restrictions": ["STEP % 16 == 0 or STEP == 1"]}
    found = tcbtune.tune_kernel("scale", SOURCE, x.size, arguments,
                                {"STEP": [1, 4, 16, 64], "OFFSET": [0, 1]}, **names)
    assert found.best["OFFSET"] == 0 and found.best["STEP"] in (1, 16, 64) and found.time > 0, found
    assert len(found.records) == 6 and set(found.records["STEP"]) == {1, 16, 64}, found.records
    assert np.isnan(found.records[found.records["OFFSET"] == 1]["time"]).all(), found.records
    assert (found.records[found.records["OFFSET"] == 0]["outcome"] == "correct").all(), found.records
    expect(tcbtune.Failed, "error", tcbtune.tune_kernel, "scale", SOURCE.replace("float factor", "flaot factor"), x.size,
           arguments, {"STEP": [1, 4], "OFFSET": [0]}, answer=names["answer"], budget=5)
    expect(ValueError, "nothing could be verified", tcbtune.tune_kernel, "scale", SOURCE, x.size, arguments,
           {"STEP": [1]})
    expect(ValueError, "allow no configuration", tcbtune.tune_kernel, "scale", SOURCE, x.size, arguments, {"STEP": [1]},
           answer=names["answer"], restrictions="STEP > 1")
    expect(TypeError, "expression as text", tcbtune.tune_kernel, "scale", SOURCE, x.size, arguments, {"STEP": [1]},
           answer=names["answer"], restrictions=[lambda p: True])
    expect(TypeError, "complex64", tcbtune.tune_kernel, "scale", SOURCE, x.size,
           [x.astype(np.complex64), *arguments[1:]], {"STEP": [1], "OFFSET": [0]}, answer=names["answer"])


def multiply():
    from tcbtune import rt
    rng = np.random.default_rng(2)
    a, b = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((64, 256), (256, 128)))
    c = np.zeros((64, 128), np.float32)
    plan = rt.Runtime().plan("matmul_f32", 64, 128, 256)
    plan.execute([a, b, c], rt.Pool(plan.info.threads))
    assert np.allclose(c, a @ b, atol=1e-3), abs(c - a @ b).max()


def main():
    source, build = map(pathlib.Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as scratch:
        made = subprocess.run([sys.executable, source / "scripts/make-wheel.py", build, scratch], check=True,
                              capture_output=True, text=True).stdout.strip()
        with zipfile.ZipFile(made) as wheel:
            wheel.extractall(f"{scratch}/site")
        os.chmod(f"{scratch}/site/tcbtune/bin/tcbtune", 0o755)
        sys.path.insert(0, f"{scratch}/site")
        for name in ("TCBTUNE_PROGRAM", "TCBRT_LIBRARY"):
            os.environ.pop(name, None)
        import tcbtune
        said = subprocess.run([sys.executable, "-m", "tcbtune", "--version"], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": f"{scratch}/site"}, check=True).stdout
        assert tcbtune.__version__ in said, said
        tune(tcbtune)
        multiply()


if __name__ == "__main__":  # scripts/wheel-in-root.sh calls what is above
    main()
