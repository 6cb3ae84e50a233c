# SPDX-License-Identifier: Apache-2.0
"""tools/check_kernels.py finds what it looks for in objects made for the purpose."""
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "check_kernels.py"
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("objdump"), reason="reads x86 code")

TILE = """
void tile_%d_1_f32(float *c, const float *a, const float *b, long n)
{
    typedef float v __attribute__((vector_size(32), aligned(4)));
    v sum = *(v *)c;
    for (long i = 0; i < n; i++) sum = (v)__builtin_ia32_vfmaddps256(*(v *)(a + 8 * i), *(v *)(b + 8 * i), sum);
    *(v *)c = sum;
}
"""
SCALAR_TILE = "void tile_%d_1_f32(float *c, const float *a, long n) { for (long i = 0; i < n; i++) *c = *c * a[i] + a[i]; }\n"
TWO_STEPS = """
void tile_%d_1_f32(float *c, const float *a, long n)
{
    typedef float v __attribute__((vector_size(32), aligned(4)));
    for (long i = 0; i < n; i++) *(v *)c = *(v *)c * *(v *)(a + 8 * i) + *(v *)c;
}
"""
LOOP = "void %s_loop_f32(float *restrict c, const float *a, long n) { for (long i = 0; i < n; i++) c[i] = a[i] + a[i] * 3; }\n"


@pytest.fixture
def look(tmp_path):
    def build(level, stem, source, *flags):
        folder = tmp_path / f"src/kernels/libtenon_kernels_{level}.a.p"
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", "-O3", "-ffp-contract=off", *flags, "-xc", "-c", "-", "-o", folder / f"{stem}.c.o"], input=source, text=True, check=True)
        return subprocess.run([sys.executable, TOOL, tmp_path], capture_output=True, text=True)
    return build


AVX2 = ("-mavx2", "-mfma")


def test_whole_vectors_pass(look):
    found = look("avx2", "gemm_isa", "".join(TILE % i for i in range(8)), *AVX2)
    assert "_f32:" not in found.stdout and "8 kernels" in found.stdout


def test_scalar_arithmetic_is_found(look):
    found = look("avx2", "gemm_isa", TILE % 1 + SCALAR_TILE % 2, *AVX2, "-fno-tree-vectorize")
    assert found.returncode == 1
    assert "tile_2_1_f32: scalar arithmetic" in found.stdout and "tile_1_1_f32:" not in found.stdout


def test_separate_multiplication_is_found(look):
    assert "tile_2_1_f32: no multiplication with addition" in look("avx2", "gemm_isa", TWO_STEPS % 2, *AVX2).stdout


def test_narrow_vectors_are_found(look):
    assert "tile_1_1_f32: no arithmetic on whole vectors" in look("avx512", "gemm_isa", TILE % 1, *AVX2).stdout


def test_loops_that_are_scalar_are_found(look):
    source = LOOP % "add" + "__attribute__((optimize(\"no-tree-vectorize\")))\n" + LOOP % "multiply"
    found = look("avx2", "elementwise_ops", source, *AVX2)
    assert "multiply_loop_f32: no innermost loop" in found.stdout and "add_loop_f32: no" not in found.stdout


@pytest.mark.parametrize("level,flags,name", [("baseline", AVX2, "baseline"), ("avx2", ("-mavx512f", "-mprefer-vector-width=512"), "avx2")])
def test_instructions_beyond_the_set_are_found(look, level, flags, name):
    assert f"{name} gemm_isa.c.o add_loop_f32: foreign instruction" in look(level, "gemm_isa", LOOP % "add", *flags).stdout


def test_a_rule_that_finds_too_few_kernels_is_a_finding(look):
    assert "1 kernels match tile_" in look("avx2", "gemm_isa", TILE % 1, *AVX2).stdout
