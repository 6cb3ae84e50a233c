#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py OUT FILE...: the programs of the suite as a C table, so that it needs no folder beside it."""

import sys
from pathlib import Path

out, files = sys.argv[1], [Path(f) for f in sys.argv[2:]]
with open(out, "w", encoding="utf-8") as f:
    f.write('/* Made by conformance/embed.py. */\n#include <stdlib.h>\n#include <string.h>\n\n'
            '#include "conformance/check.h"\n\n')
    for i, path in enumerate(files):
        data = path.read_bytes()
        rows = [", ".join(map(str, data[k:k + 24])) for k in range(0, len(data), 24)]
        f.write(f"static const unsigned char bytes_{i}[] = {{\n    " + ",\n    ".join(rows) + "};\n")
    f.write("\nstatic const struct {\n    const char *name;\n    const void *data;\n    size_t size;\n} programs[] = {\n")
    for i, path in enumerate(files):
        f.write(f'    {{"{path.name.removesuffix(".mlirbc")}", bytes_{i}, sizeof bytes_{i}}},\n')
    f.write("};\n\nconst void *program_data(const char *name, size_t *size)\n{\n"
            "    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)\n"
            "        if (!strcmp(programs[i].name, name)) {\n            *size = programs[i].size;\n"
            "            return programs[i].data;\n        }\n"
            '    fail(__FILE__, __LINE__, "no program %s comes with the suite", name);\n}\n')
