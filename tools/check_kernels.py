#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_kernels.py BUILD - reads the machine code of the kernels in a build folder, for each instruction set they were
compiled for, whether or not this machine has it.

1. No instruction beyond the set: whatever runs on every CPU (the core, the baseline kernels) holds no VEX instruction,
   the AVX2 kernels no EVEX one.
2. The hot kernels are vectors of the set's full width: tiles of products and convolutions, folds of rows, elementwise
   chains. Tiles of floats multiply and add in one instruction where the set has it.
3. No kernel that should be a vector has become scalar: tiles hold no scalar arithmetic at all, loops have an innermost
   loop without any (what is left over at the end of an array may be scalar).

Ends with a line that counts kernels and objects; exits with 1 and a line per finding otherwise."""
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# x86: the names of what AT&T syntax shows.
SCALAR_X86 = re.compile(r"v?(add|sub|mul|div|max|min|sqrt)s[sd]$|vfn?m(add|sub)\d*s[sd]$")
PACKED_X86 = re.compile(r"v?(p?(add|sub|mul|madd|and|or|xor|max|min|cmp|abs|sll|srl|sra|sad)|div|sqrt|sub|round|rndscale|cvt|blend|fn?m(add|sub))")
EVEX = re.compile(r"%zmm|%k[0-7]|%[xy]mm(1[6-9]|2\d|3[01])|\{")
# aarch64: arithmetic on s and d registers alone is scalar.
SCALAR_ARM = re.compile(r"f(add|sub|mul|div|madd|msub|nmadd|nmsub|max|min|maxnm|minnm|sqrt)\s+[sd]\d")
WIDE_ARM = re.compile(r"\bv\d+\.(16b|8h|4s|2d)")


class Level(NamedTuple):
    register: str  # a vector of full width in an operand
    fma: str | None  # a multiplication with addition over such vectors
    foreign: re.Pattern | None  # what may not stand in an object of this level


LEVELS = {
    "baseline": Level(r"%xmm", None, re.compile(r"^v|%[yz]mm|%k[0-7]\b")),
    "avx2": Level(r"%ymm", r"vfn?madd\d+p[sd]\s.*%ymm", EVEX),
    "avx512": Level(r"%zmm", r"vfn?madd\d+p[sd]\s.*%zmm", None),
    "neon": Level(r"\bv\d+\.(4s|2d|8h|16b)", r"fml[as]\s+v\d+\.(4s|2d)", None),
}

# Object, kernels, what they must be: "tile": no scalar arithmetic, "loop": an innermost loop of vectors; the least
# number of kernels that the pattern has to find, so that renaming does not switch a rule off. Tiles of floats use FMA.
RULES = [
    ("gemm_isa", r"tile_\d+_\d+_(f32|f64)$", "tile", 8),
    ("gemm_isa", r"tile_\d+_\d+_(u32|p16)$", "tile", 8),
    ("conv_isa", r"lanes_\d+_\d+_(f32|f64)$", "tile", 8),
    ("reduce_isa", r"(sum|product)_(f32|f64)_(append|columns)$", "loop", 8),
    ("reduce_isa", r"(max|min)_(f32|f64)$", "loop", 4),
    ("short_rows_isa", r"(sum|product)_(f32|f64)$", "loop", 4),
    ("elementwise_ops", r"(add|subtract|multiply|divide|negate|abs|sqrt|maximum|minimum|floor|ceil)_loop_(f32|f64)$", "loop", 16),
    ("elementwise_ops", r"(exponential|log|tanh|logistic|log_plus_one|exponential_minus_one|cbrt|power|atan2)_loop_f32$", "loop", 8),
    ("elementwise_ops", r"(exponential|log|tanh|logistic)_loop_f64$", "loop", 4),
    ("elementwise_ops", r"(add|subtract|and|or|xor)_loop_(i8|i16|i32|i64)$", "loop", 8),
]
# The baseline of x86-64 has no instruction that rounds, and none that multiplies and adds, which the C library then does.
EXEMPT = {("baseline", "elementwise_ops"): r"(floor|ceil|exponential|exponential_minus_one|log|log_plus_one|tanh|logistic|cbrt|atan2)_loop_",
          ("baseline", "reduce_isa"): r"((max|min)_f64|\w+_columns)$"}  # two lanes: not worth vectors; compiled for size


class Instruction(NamedTuple):
    address: int
    text: str
    target: int | None  # of a jump


def disassemble(tool, path):
    """{function: its instructions}"""
    text = subprocess.run([tool, "-dw", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    functions, current = {}, None
    for line in text.splitlines():
        if m := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            current = functions.setdefault(m[1], [])
        elif current is not None and (m := re.match(r"\s*([0-9a-f]+):\t(.*)$", line)):
            t = re.match(r"(?:j\w+|b(?:\.\w+)?|cbn?z|tbn?z)\s+(?:[^<]*?,\s*)?([0-9a-f]+) <", m[2])
            current.append(Instruction(int(m[1], 16), m[2].split("\t//")[0], int(t[1], 16) if t else None))
    return functions


def innermost_loops(code):
    """Ranges of instructions from the target of a jump backwards to the jump, those without another inside."""
    loops = {(i.target, i.address) for i in code if i.target is not None and code[0].address <= i.target <= i.address}
    inner = [l for l in loops if not any(o != l and l[0] <= o[0] and o[1] <= l[1] for o in loops)]
    return [[i.text for i in code if a <= i.address <= b] for a, b in inner]


class Machine:
    """How to read one architecture's instructions."""

    def __init__(self, arm):
        self.arm = arm
        self.tool = "aarch64-linux-gnu-objdump" if arm and subprocess.run(["uname", "-m"], capture_output=True, text=True).stdout.strip() != "aarch64" else "objdump"

    def is_scalar(self, text):
        return bool(SCALAR_ARM.match(text) if self.arm else SCALAR_X86.match(text.split()[0]))

    def is_vector(self, text, level):
        if not re.search(level.register, text):
            return False
        return bool(self.arm or PACKED_X86.match(text.split()[0])) and not self.is_scalar(text)


def look_at_kernel(machine, level, kind, code, floats):
    """What is wrong with a kernel, or None."""
    texts = [i.text for i in code]
    if kind == "tile":
        scalar = next((t for t in texts if machine.is_scalar(t)), None)
        if scalar:
            return f"scalar arithmetic: {scalar}"
        if not any(machine.is_vector(t, level) for t in texts):
            return "no arithmetic on whole vectors"
        if floats and level.fma and not any(re.match(level.fma, t) for t in texts):
            return "no multiplication with addition on whole vectors"
        return None
    loops = innermost_loops(code)
    if not loops:
        return "no loop"
    if not any(any(machine.is_vector(t, level) for t in l) and not any(machine.is_scalar(t) for t in l) for l in loops):
        return "no innermost loop of whole vectors"
    return None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = Path(sys.argv[1])
    arm = b"aarch64" in subprocess.run(["file", "-L", build / "libtenon_pjrt.so"], capture_output=True).stdout
    machine = Machine(arm)
    findings, n_kernels, n_objects = [], 0, 0
    for name, level in LEVELS.items():
        isa = "baseline" if name == "neon" else name
        if arm != (name == "neon"):
            continue
        objects = sorted(path for kind in ("kernels", "tables", "folds") for path in build.glob(f"src/kernels/libtenon_{kind}_{isa}.a.p/*.o"))
        if not objects:
            findings.append(f"libtenon_kernels_{isa}, libtenon_tables_{isa}: no objects")
        for path in objects:
            functions = disassemble(machine.tool, path)
            n_objects += 1
            if level.foreign:
                findings += [f"{name} {path.name} {f}: foreign instruction: {i.text}" for f, code in functions.items()
                             if (i := next((i for i in code if level.foreign.search(i.text)), None))]
            for stem, pattern, kind, least in RULES:
                if path.name != stem + ".c.o":
                    continue
                found = [f for f in functions if re.match(pattern, f)]
                if len(found) < least:
                    findings.append(f"{name} {stem}: {len(found)} kernels match {pattern}, expected {least} at least")
                for f in found:
                    n_kernels += 1
                    wrong = look_at_kernel(machine, level, kind, functions[f], re.search(r"_f\d\d$", f))
                    if wrong and not re.match(EXEMPT.get((name, stem), "$^"), f):
                        findings.append(f"{name} {stem} {f}: {wrong}")
    if not arm:  # what runs everywhere
        for path in sorted(build.glob("libtenon_core.a.p/*.o")) + sorted(build.glob("src/kernels/libtenon_kernels_common.a.p/*.o")):
            n_objects += 1
            for f, code in disassemble(machine.tool, path).items():
                if re.search(r"_(avx2|avx512)$", f):
                    continue  # by its name for one set, and called by who has it
                if i := next((i for i in code if LEVELS["baseline"].foreign.search(i.text)), None):
                    findings.append(f"{path.name} {f}: needs more than the baseline: {i.text}")
    for line in findings:
        print(line)
    print(f"{n_kernels} kernels in {n_objects} objects: {len(findings)} findings")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
