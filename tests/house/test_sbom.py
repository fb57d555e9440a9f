# SPDX-License-Identifier: MIT
"""The list of what is linked (CycloneDX) is valid JSON and complete: each library that the loader is told to load is
in it, with a version and a licence; each that it calls shared is loaded by one of them.

    test_sbom.py SBOM BINARY..."""
import json
import re
import subprocess
import sys

# What the C library's parts are called, and those of the compiler and its sanitizers.
LIBC = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so")
COMPILER = re.compile(r"^lib(gcc_s|asan|ubsan|tsan|gcov)\.so")
OURS = re.compile(r"^libtcb(rt|ptx)\.so")


def main():
    document = json.load(open(sys.argv[1]))
    assert document["bomFormat"] == "CycloneDX" and document["specVersion"] == "1.5"
    components = {part["bom-ref"]: part for part in document["components"]}
    assert document["dependencies"] == [{"ref": "tcbtune", "dependsOn": list(components)}]
    for name, part in components.items():
        assert re.match(r"\d+\.\d", part["version"]), f"{name} has no version"
        assert part["licenses"][0]["license"]["id"], f"{name} has no licence"
    names = {"glibc": LIBC}
    names.update({name: re.compile(rf"^(lib)?{re.escape(re.sub('^lib', '', name))}\.so") for name in components if name != "glibc"})
    names["zlib"] = re.compile(r"^libz\.so")
    loaded = set()
    for binary in sys.argv[2:]:
        said = subprocess.run(["readelf", "-d", binary], check=True, capture_output=True, text=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
        assert needed, f"{binary} needs nothing: readelf was not understood"
        for library in needed:
            if COMPILER.match(library) or OURS.match(library):
                continue
            found = [name for name in components if names[name].match(library)]
            assert found, f"{binary} needs {library}, which the list lacks"
            loaded.update(found)
    shared = {name for name, part in components.items() if part["properties"][0]["value"] == "shared library"}
    assert shared == loaded, f"shared, but needed by none: {sorted(shared - loaded)}; needed, but not shared: {sorted(loaded - shared)}"
    print(f"{len(components)} components, {len(loaded)} of them loaded")


main()
