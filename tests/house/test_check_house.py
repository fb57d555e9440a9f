# SPDX-License-Identifier: MIT
"""check_house.py must find what it is there to find: each rule is broken once in a scratch tree."""
import pathlib
import shutil
import tempfile
import unittest

import check_house

GOOD = "/* SPDX-License-Identifier: MIT\n *\n * A file.\n */\n"


class Rules(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.tmp.name)
        for folder in ("base", "search", "db", "cli", "kernels/q"):
            (self.root / "src" / folder).mkdir(parents=True)
        (self.root / "tests").mkdir()
        self.put("src/base/a.h", GOOD)
        self.put("src/kernels/formats.h", GOOD)
        self.put("src/kernels/q/q.h", GOOD)

    def tearDown(self):
        self.tmp.cleanup()

    def put(self, name, text):
        (self.root / name).write_text(text)

    def found(self, offences, part):
        self.assertTrue(any(part in o for o in offences), f"'{part}' not in {offences}")

    def test_clean_tree(self):
        self.put("src/base/a.c", GOOD + '#include "base/a.h"\n')
        self.put("src/base/CMakeLists.txt", "a.c")
        self.assertEqual(check_house.check_includes(self.root), [])
        self.assertEqual(check_house.check_sources(self.root), [])

    def test_upward_include(self):
        self.put("src/base/a.c", GOOD + '#include "search/x.h"\n')
        self.found(check_house.check_includes(self.root), "'base' may not include 'search/x.h'")

    def test_search_does_not_see_the_database(self):
        self.put("src/search/s.c", GOOD + '#include "db/db.h"\n')
        self.found(check_house.check_includes(self.root), "'search' may not include 'db/db.h'")

    def test_integrations_see_the_public_header_only(self):
        (self.root / "integrations/host").mkdir(parents=True)
        self.put("integrations/host/a.c", GOOD + '#include "b.h"\n#include "tcbrt.h"\n')
        self.put("integrations/host/b.h", GOOD)
        self.assertEqual(check_house.check_includes(self.root), [])
        self.put("integrations/host/b.h", GOOD + '#include "base/status.h"\n')
        self.found(check_house.check_includes(self.root), "may include tcbrt.h, not 'base/status.h'")

    def test_search_sees_the_contract_only(self):
        self.put("src/search/s.c", GOOD + '#include "kernels/formats.h"\n')
        self.found(check_house.check_includes(self.root), "compiled code only")

    def test_ops_are_private(self):
        self.put("src/kernels/registry.c", GOOD + '#include "kernels/q/q.h"\n')
        self.found(check_house.check_includes(self.root), "only an op's own folder")

    def test_missing_header(self):
        self.put("src/base/a.c", GOOD + '#include "base/nothing.h"\n')
        self.found(check_house.check_includes(self.root), "does not exist")

    def test_source_rules(self):
        self.put("src/base/b.c", "int x;\n#if 0\n#endif\ntypedef int my_t;\ntypedef int ours_t[3];\n" + "\n" * 700 + 'printf("x");\n')
        offences = check_house.check_sources(self.root)
        for part in ("SPDX", "two ideas", "#if 0", "_t", "no CMakeLists.txt", "only src/cli prints"):
            self.found(offences, part)

    def test_kernels_are_written_in_words(self):
        self.put("src/kernels/q/q_gpu.h", GOOD + 'tcb_ptx_op2(b, "add.u32", x, y); "micro.n"; "mma.%ux%u.f16"\n')
        offences = [o for o in check_house.check_sources(self.root) if "vocabulary.h" in o]
        self.assertEqual(len(offences), 2)

    def test_folders_have_rooms(self):
        for i in range(check_house.FILES_MAX + 1):
            self.put(f"src/base/many{i}.h", GOOD)
        self.found(check_house.check_sources(self.root), "src/base: 6")

    def test_one_way_to_a_kernel(self):
        self.put("src/search/s.c", GOOD + "status = op->emit(problem, target, geometry, out, err);\n")
        self.found(check_house.check_sources(self.root), "kernels come from tcb_kernel_emit")

    def test_ops_come_from_the_registry(self):
        self.put("src/search/s.c", GOOD + "op = tcb_op_find(name);\n")
        self.found(check_house.check_sources(self.root), "ops come from the registry")

    def test_what_hides_failures(self):
        self.put("tests/CMakeLists.txt", 'x PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED"')
        self.put("tests/test_a.c", "#include <cmocka.h>\n")
        offences = check_house.check_sources(self.root)
        self.found(offences, "SKIP_RETURN_CODE 77")
        self.found(offences, "includes cmocka_all.h")

    def sources(self, calls):
        """Sources base/NAME.c, each with a function NAME_do that calls what CALLS says."""
        for name, called in calls.items():
            body = "".join(f"\t{call};\n" for call in called)
            self.put(f"src/base/{name}.c", f"{GOOD}int {name}_do(int x)\n{{\n{body}\treturn x;\n}}\n")

    def test_call_circles(self):
        self.sources({"one": ["two_do(1)"], "two": ["three_do(1)"], "three": ["one_do(1)"], "four": ["one_do(1)"]})
        self.found(check_house.check_circles(self.root), "3 sources call each other in a circle")
        self.found(check_house.check_circles(self.root), "base/two -> base/three")
        self.sources({"three": []})
        self.assertEqual(check_house.check_circles(self.root), [])

    def test_include_circles(self):
        self.put("src/base/one.h", GOOD)
        self.put("src/base/one.c", GOOD + '#include "base/one.h"\n#include "base/two.h"\n')
        self.assertEqual(check_house.check_circles(self.root), [])
        self.put("src/base/two.h", GOOD + '#include "base/one.h"\n')
        self.found(check_house.check_circles(self.root), "2 sources include each other in a circle")

    def test_what_is_no_call_is_no_circle(self):
        self.put("src/base/one.h", f"{GOOD}int one_do(int x);\nint two_do(int x);\n")
        self.sources({"one": ["/* two_do(1) */", 'puts("two_do(1)")', "x.two_do(1)"], "two": ["one_do(1)"]})
        self.assertEqual(check_house.check_circles(self.root), [])

    def test_calls_in_headers_and_macros(self):
        self.put("src/base/one.h", f"{GOOD}#define ONE(x) \\\n\ttwo_do(x)\n")
        self.sources({"one": [], "two": ["one_do(1)"]})
        self.found(check_house.check_circles(self.root), "base/one -> base/two")
        self.put("src/base/one.h", f"{GOOD}static inline int one_in(int x)\n{{\n\treturn two_do(x);\n}}\n")
        self.found(check_house.check_circles(self.root), "base/one -> base/two")

    def test_words(self):
        self.put("src/base/a.c", GOOD + "/* 4 blocks an SM */\n/* it was foretold */\n/* 3 is no power of two */\n")
        offences = check_house.check_words(self.root)
        for part in ("src/base/a.c:5: 'blocks an SM': write 'per'", "'predict'", "'is no power of two'"):
            self.found(offences, part)
        self.put("src/base/a.c", GOOD + "/* 4 blocks per SM; how long a block takes */\n")
        self.assertEqual(check_house.check_words(self.root), [])

    def test_shown_words(self):
        self.put("src/base/a.c", GOOD + """f("'%s' is no " "shape"); /* that is no string */ f("2 operations a byte");\n""")
        self.put("README.md", "There is no doubt, there\nare none, but it is\nno answer.\n")
        offences = check_house.check_words(self.root)
        for part in ("'%s' is no shape", "operations a byte': write 'per'", "README.md:1: '"):
            self.found(offences, part)
        self.assertEqual(len(offences), 3, offences)
        self.put("src/base/a.c", GOOD + """f("invalid shape '%s'; there is no other, it is no longer here");\n""")
        self.put("README.md", "There\nis no doubt.\n")
        self.assertEqual(check_house.check_words(self.root), [])

    def test_headers_compile_alone(self):
        needs = GOOD + "size_t count(void);\n"
        self.put("src/base/b.h", needs)
        self.found(check_house.check_headers(self.root, "cc"), "src/base/b.h: does not compile alone")
        # Others' sources, and its own with anything before it, do not show it; the build of its own does.
        self.put("src/base/c.c", GOOD + '#include "base/b.h"\n')
        self.put("src/base/b.c", GOOD + '#include <stddef.h>\n#include "base/b.h"\n')
        self.found(check_house.check_headers(self.root, "cc"), "src/base/b.h: does not compile alone")
        self.put("src/base/b.c", GOOD + '#include "base/b.h"\n\n#include <stddef.h>\n')
        self.assertFalse([o for o in check_house.check_headers(self.root, "cc") if "b.h" in o])

    @unittest.skipUnless(shutil.which("clang-format"), "clang-format is not installed")
    def test_what_passed_is_not_formatted_again(self):
        passed = self.root / "passed"
        self.put(".clang-format", "BasedOnStyle: LLVM\n")
        self.put("src/base/a.c", GOOD + "int  x;\n")
        for _ in range(2):  # what failed is not kept
            self.found(check_house.check_format(self.root, passed), "src/base/a.c")
        self.put("src/base/a.c", GOOD + "int x;\n")
        self.assertEqual(check_house.check_format(self.root, passed), [])
        self.put("src/base/b.c", GOOD + "int  x;\n")
        self.found(check_house.check_format(self.root, passed), "src/base/b.c")
        self.put("src/base/b.c", GOOD)
        self.put(".clang-format", "BasedOnStyle: GNU\nColumnLimit: 8\n")  # other rules, other verdicts
        self.put("src/base/a.c", GOOD + "int x = 1 + 1;\n")
        self.found(check_house.check_format(self.root, passed), "src/base/a.c")

    def test_unique_names(self):
        self.put("src/db/a.h", GOOD)
        self.found(check_house.check_sources(self.root), "name is taken")


if __name__ == "__main__":
    unittest.main()
