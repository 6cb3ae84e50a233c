#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the manual pages and the shell completion from the help texts, so that they say the same: man.py TENON OUTDIR"""

import re
import subprocess
import sys
from pathlib import Path

tenon, out = sys.argv[1], Path(sys.argv[2])


def ask(*args):
    return subprocess.run([tenon, *args], capture_output=True, text=True, check=True).stdout


def escape(text):
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.replace("\\", "\\e").replace("-", "\\-").split("\n"))


def page(name, line, body):
    return (f'.TH {name.upper()} 1 "" "tenon" "User Commands"\n.SH NAME\n{escape(name)} \\- {escape(line)}\n'
            f".SH SYNOPSIS AND USE\n.nf\n{escape(body.rstrip())}\n.fi\n.SH SEE ALSO\n.BR tenon (1)\n")


overview = ask("--help")
commands = re.findall(r"^  (\w+) +(.+)$", overview, re.M)
(out / "tenon.1").write_text(page("tenon", "look at, use and check any PJRT plugin", overview))
cases = []
for name, line in commands:
    text = ask(name, "--help")
    (out / f"tenon-{name}.1").write_text(page(f"tenon-{name}", line, text))
    options = sorted(set(re.findall(r"--[a-z][a-z-]+", text)) | {"--help"})
    cases.append(f"    {name}) words='{' '.join(options)}' ;;")
(out / "tenon.bash").write_text(
    "# Completion of the tenon command for bash; made from its help texts.\n_tenon()\n{\n"
    "    local words='' now=${COMP_WORDS[COMP_CWORD]}\n"
    f"    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W '{' '.join(n for n, _ in commands)} --help --version' -- \"$now\"))\n"
    "        return\n    fi\n    case ${COMP_WORDS[1]} in\n" + "\n".join(cases) +
    "\n    esac\n    case $now in\n    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$now\")) ;;\n"
    "    *) COMPREPLY=($(compgen -f -- \"$now\")) ;;\n    esac\n}\ncomplete -o filenames -F _tenon tenon\n")
