# SPDX-License-Identifier: MIT
"""check_house.py must find what it is there to find: each rule is broken once in a scratch tree."""
import pathlib
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
        self.put("src/base/b.c", "int x;\n#if 0\n#endif\ntypedef int my_t;\n" + "\n" * 700 + 'printf("x");\n')
        offences = check_house.check_sources(self.root)
        for part in ("SPDX", "two ideas", "#if 0", "_t", "no CMakeLists.txt", "only src/cli prints"):
            self.found(offences, part)

    def test_unique_names(self):
        self.put("src/db/a.h", GOOD)
        self.found(check_house.check_sources(self.root), "name is taken")


if __name__ == "__main__":
    unittest.main()
