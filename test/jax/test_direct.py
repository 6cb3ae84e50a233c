# SPDX-License-Identifier: Apache-2.0
"""Programs that the Python package sends past jaxlib's passes (python/tenon/direct.py)."""

import dataclasses
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src import compiler
from jax._src.interpreters import pxla
from jax._src.lib import xla_client
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from tenon import direct

from conftest import PLATFORM

X = np.random.RandomState(0).uniform(-0.9, 0.9, (8, 16)).astype(np.float32)


first = jax.jit(lambda x: x - 3)


def ours():
    """The compiler that stands in JAX's place, which has seen a program."""
    first(X)
    found = getattr(compiler.backend_compile_and_load, "__wrapped__", None)
    if not isinstance(found, direct.Compiler):
        pytest.skip("this JAX compiles in another way")
    return found


def went_directly(f, *args):
    """Runs f on both platforms, compares, and says whether Tenon got its program directly."""
    before = ours().n_direct
    got = jax.tree.map(np.asarray, jax.jit(f)(*args))
    direct_ones = ours().n_direct - before
    with jax.default_device(jax.devices("cpu")[0]):
        want = jax.tree.map(np.asarray, jax.jit(lambda *a: f(*a))(*args))
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a.astype(complex), b.astype(complex), rtol=2e-5, atol=2e-5)
    return direct_ones > 0


def scatter(x):
    return x.at[jnp.array([1, 3, 1])].add(x[:3], mode="drop"), x.at[2].set(0), x[jnp.array([7, 0])]


def loop(x):
    def body(c, y):
        return c * 0.5 + y, (c.sum(), y > 0)

    last, stacked = lax.scan(body, jnp.zeros(16), x)
    n = lax.while_loop(lambda i: i < 7, lambda i: i + 2, 0)
    return last, stacked, n, lax.cond(n > 3, jnp.sin, jnp.cos, x)


def convolve(x):
    image = x.reshape(1, 8, 16, 1)
    kernel = jnp.arange(9, dtype=jnp.float32).reshape(3, 3, 1, 1)
    return (lax.conv_general_dilated(image, kernel, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
            lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"))


PROGRAMS = {
    "elementwise": lambda x: jnp.tanh(x) * x + jnp.where(x > 0, x, -1),
    "constants": lambda x: x + np.linspace(0, 1, 16, dtype=np.float32) + np.eye(8, 16, dtype=np.float32),
    "square": lambda x: jnp.square(x) + x**2,
    "layer_norm": lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5),
    "products": lambda x: (x @ x.T, jnp.einsum("ij,ik->jk", x, x, precision="highest")),
    "sorts": lambda x: (jnp.sort(x, 0), jnp.argsort(x, stable=True), lax.top_k(x, 3)),
    "scatter": scatter,
    "loop": loop,
    "convolve": convolve,
    "fft": lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 2),
    "complex": lambda x: jnp.abs(jnp.exp(lax.complex(x, x))),
    "random": lambda x: jax.random.uniform(jax.random.key(3), (5,)) + jax.random.normal(jax.random.key(4), (5,)),
    "linalg": lambda x: jnp.linalg.cholesky(x @ x.T + 8 * jnp.eye(8)),
    "types": lambda x: [(x * 100).astype(t) for t in (jnp.int8, jnp.uint16, jnp.bfloat16, jnp.float16, bool)],
    "scalars": lambda x: (x[0, 0], jnp.int32(3), x.shape[0]),
    "empty": lambda x: x[:0],
    "cumulative": lambda x: (jnp.cumsum(x, 1), lax.cummax(x, 0), lax.associative_scan(jnp.multiply, x)),
    "custom_jvp": jax.grad(lambda x: jax.nn.relu(x).sum() + jax.nn.silu(x).sum()),
    "reduce_precision": lambda x: lax.reduce_precision(x, 5, 10),
    "callback": lambda x: jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x),
    "acos": jnp.arccos, "acosh": lambda x: jnp.arccosh(x + 2), "asin": jnp.arcsin, "asinh": jnp.arcsinh,
    "atan": jnp.arctan, "atanh": jnp.arctanh, "cosh": jnp.cosh, "sinh": jnp.sinh, "tan": jnp.tan,
    "erf": lax.erf, "erfc": lax.erfc, "erf_inv": lax.erf_inv, "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "half": lambda x: lax.erf(x.astype(jnp.bfloat16)) + jnp.sinh(x.astype(jnp.float16)).astype(jnp.bfloat16) * 0,
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_goes_directly(name):
    if name in ("callback", "linalg", "fft") and PLATFORM == "tenon_sim":
        pytest.skip("for the host alone")
    assert went_directly(PROGRAMS[name], X)


@pytest.mark.parametrize("f", [lax.lgamma, lax.digamma, lambda x: lax.erf_inv(x.astype(jnp.float64))])
def test_functions_that_want_expansion_go_jaxlibs_way(f, x64):
    assert not went_directly(f, X)


def test_double_precision(x64):
    f = lambda x: (jnp.sinh(x), jnp.cosh(x), jnp.arccosh(x + 2), jnp.arcsinh(x), jnp.arctan(x))  # noqa: E731
    assert went_directly(f, X.astype(np.float64) * 3)


def test_functions_at_their_ends():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 88.9, -88.9, 1e-30, -1e-6, 1.0, -1.0], np.float32)
    for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "erf", "erfc", "erf_inv"):
        f = {"acosh": jnp.arccosh}.get(name, PROGRAMS[name])
        with np.errstate(all="ignore"):
            exact = {"erf": None, "erfc": None, "erf_inv": None}.get(name, getattr(np, "arc" + name[1:], None))
            exact = {"cosh": np.cosh, "sinh": np.sinh}.get(name, exact)
            got = np.asarray(jax.jit(f)(x))
            if exact is None:
                want = {"erf": [0, -0.0, 1, -1, np.nan, 1, -1, 1, -1, 1.1283792e-30, -1.1283792e-6, 0.84270079, -0.84270079],
                        "erfc": [1, 1, 0, 2, np.nan, 0, 2, 0, 2, 1, 1.0000011, 0.15729921, 1.8427008],
                        "erf_inv": [0, -0.0, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, 8.8622693e-31,
                                    -8.862269e-7, np.inf, -np.inf]}[name]  # fmt: skip
            else:
                want = exact(x.astype(np.float64)).astype(np.float32)
        np.testing.assert_allclose(got, np.asarray(want, np.float32), rtol=1e-6, err_msg=name)


def test_donation():
    x = jnp.asarray(X)
    before = ours().n_direct
    jax.jit(lambda v: v * 2, donate_argnums=0)(x)
    assert x.is_deleted() and ours().n_direct == before + 1


def test_several_devices_go_jaxlibs_way():
    devices = jax.devices()
    if len(devices) < 2:
        pytest.skip("one device")
    before = ours().n_direct
    sharding = NamedSharding(Mesh(np.array(devices[:2]), "d"), PartitionSpec("d"))
    total = jax.shard_map(lambda v: lax.psum(v.sum(), "d"), mesh=sharding.mesh, in_specs=PartitionSpec("d"),
                          out_specs=PartitionSpec())
    got = jax.jit(total)(jax.device_put(X, sharding))
    np.testing.assert_allclose(got, X.sum(), rtol=1e-5)
    assert ours().n_direct == before


def test_an_executable_is_stored_and_loaded(tmp_path):
    compiled = jax.jit(lambda x: jnp.square(x) + lax.erf(x)).lower(X).compile()
    client = jax.devices()[0].client
    data = compiled.runtime_executable().serialize()
    again = client.deserialize_executable(data, xla_client.DeviceList(tuple(jax.devices()[:1])))
    out = again.execute([jax.device_put(X)])
    np.testing.assert_allclose(np.asarray(out[0]), np.asarray(compiled(X)))


def test_compile_options_count(tmp_path):
    before = ours().n_direct
    jax.jit(lambda x: x * 7, compiler_options={"xla_dump_to": str(tmp_path)})(X)
    assert ours().n_direct == before + 1 and len(list(tmp_path.glob("*.after_optimizations.mlir"))) == 1
    with pytest.raises(Exception, match="No such compile option: 'no_such'"):
        jax.jit(lambda x: x * 8, compiler_options={"no_such": 1})(X)


def test_an_error_is_what_it_is_by_jaxlibs_way():
    def unknown(x):
        return jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    with pytest.raises(Exception, match="no_such_target"):
        jax.jit(unknown)(X)


def test_another_description_is_refused():
    outputs = direct._output((2, 3), "f32", b"device")
    stored = outputs + direct._field(direct._NAME, b"main")
    stored = direct._varint(len(stored)) + stored + direct._STORED
    assert direct._Form.of(stored, outputs).describe(outputs)[1:] == outputs
    with pytest.raises(ValueError, match="another way"):
        direct._Form.of(stored, direct._output((2, 3), "f64", b"device"))
    with pytest.raises(ValueError, match="no executable"):
        direct._Form.of(stored[:-1], outputs)
    assert direct._Form.of(direct._STORED, outputs).describe(outputs) == b""


def test_the_form_is_learnt_from_a_program(monkeypatch):
    compiler = ours()
    known = compiler._form
    monkeypatch.setattr(compiler, "_form", None)
    before = compiler.n_direct
    jax.jit(lambda x: (x * 5, x[0, 0]))(X)
    assert compiler.n_direct == before and compiler._form == known
    jax.jit(lambda x: (x * 6, x[0, 0]))(X)
    assert compiler.n_direct == before + 1


def test_it_can_be_switched_off():
    code = ("import jax, numpy as np; from jax._src import compiler; jax.devices();"
            "print(hasattr(compiler.backend_compile_and_load, '__wrapped__') and "
            "type(compiler.backend_compile_and_load.__wrapped__).__name__); print(jax.jit(lambda x: x + 1)(np.float32(1)))")
    run = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TENON_DIRECT": "0"}, capture_output=True,
                         text=True, timeout=120, check=True)
    assert "Compiler" not in run.stdout and "2.0" in run.stdout


def shortened():
    """Whether this JAX's way to us is one that is known."""
    ours()
    if jax.__version__ not in direct._SHORTENED:
        pytest.skip("this JAX goes its own way to the compiler")


def test_no_key_is_made_for_a_cache_that_is_not_there(monkeypatch):
    shortened()
    monkeypatch.setattr(compiler, "_get_cache_key", lambda *args, **named: pytest.fail("made a key"))
    np.testing.assert_array_equal(jax.jit(lambda x: x * 9)(X), X * 9)


def test_a_stored_cache_is_used(tmp_path):
    """In a process of its own, since JAX keeps its cache open."""
    code = ("import jax, numpy as np;"
            "print(jax.jit(lambda x: x * 11)(np.float32(2)));"
            "events = []; jax.monitoring.register_event_listener(lambda e, **k: events.append(e));"
            "jax.clear_caches(); print(jax.jit(lambda x: x * 11)(np.float32(2)));"
            "print([e for e in events if e.endswith('cache_hits')])")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True,
                         env={**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
                              "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                              "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0"})  # fmt: skip
    assert run.stdout.split()[:2] == ["22.0", "22.0"] and "cache_hits" in run.stdout
    assert list(tmp_path.glob("*-cache"))


def test_what_others_see_of_a_compile(tmp_path, caplog):
    """JAX's line in the log, durations for listeners, and dumps."""
    shortened()
    with jax.log_compiles(True):
        jax.jit(lambda x: x * 12)(X)
    assert "Finished XLA compilation of jit(<lambda>)" in caplog.text
    seen = []
    jax.monitoring.register_event_duration_secs_listener(lambda event, duration, **named: seen.append(event))
    for f in (lambda x: x * 13, lax.lgamma):  # the second one goes jaxlib's way after all
        seen.clear()
        jax.jit(f).lower(X).compile()
        assert seen.count("/jax/core/compile/backend_compile_duration") == 1
    jax.config.update("jax_dump_ir_to", str(tmp_path))
    try:
        jax.jit(lambda x: x * 14)(X)
    finally:
        jax.config.update("jax_dump_ir_to", "")
    assert list(tmp_path.glob("*_compile.mlir"))


def test_who_stands_before_the_compiler_sees_programs(monkeypatch):
    """As the guard does that a forked child has (tenon/__init__.py)."""
    ours()
    seen = []
    before = compiler.backend_compile_and_load
    monkeypatch.setattr(compiler, "backend_compile_and_load", lambda *a, **named: (seen.append(a), before(*a, **named))[1])
    np.testing.assert_array_equal(jax.jit(lambda x: x * 15)(X), X * 15)
    assert len(seen) == 1


def placed(**named):
    return jax.sharding.SingleDeviceSharding(jax.devices()[0], **named)


def on_mesh():
    return NamedSharding(Mesh(np.array(jax.devices()[:1]), "d"), PartitionSpec())


# What programs can say of arguments and results: (function, options of jit, arguments, whether that is the plain case).
SAYINGS = {
    "nothing": (lambda x: (x, x.T, x.sum(), x > 0), {}, (X,), True),
    "no results": (lambda x: (), {}, (X,), True),
    "no arguments": (lambda: jnp.arange(4), {}, (), True),
    "unused arguments": (lambda x, y, z: z + 1, {}, (X, 2, np.int8([3])), True),
    "weak types": (lambda x: x + 1, {}, (3.0,), True),
    "donation": (lambda x, y: x * y, {"donate_argnums": 0}, (X, X), True),
    "places": (lambda x: (x * 2, x[0]), {"in_shardings": placed, "out_shardings": placed}, (X,), True),
    "places of some": (lambda x, y: (x + y, y), {"out_shardings": lambda: (None, placed())}, (X, X), True),
    "places by arrays": (lambda x, y: x + y, {}, (lambda: jax.device_put(X, jax.devices()[0]), X), True),
    "places on the way": (lambda x: lax.with_sharding_constraint(x, placed()) + 1, {}, (X,), True),
    "types of half a byte": (lambda x: x.astype(jnp.int4), {}, (X,), False),
    "keys": (lambda k: (k, jax.random.uniform(k)), {}, (lambda: jax.random.key(1),), False),
    "meshes": (lambda x: x * 3, {}, (lambda: jax.device_put(X, on_mesh()),), False),
    "meshes on the way": (lambda x: lax.with_sharding_constraint(x, on_mesh()) + 1, {}, (X,), False),
    "effects in order": (lambda x: (jax.debug.print("", ordered=True), x * 4)[1], {}, (X,), False),
}  # fmt: skip


@pytest.mark.parametrize("name", SAYINGS)
def test_what_is_known_of_an_executable_is_what_jax_finds_out(name, monkeypatch):
    """Each program goes both ways; the executables have all in common but what runs."""
    shortened()
    if PLATFORM == "tenon_sim" and name == "effects in order":
        pytest.skip("for the host alone")
    function, options, args, is_plain = SAYINGS[name]
    options = {k: v() if callable(v) else v for k, v in options.items()}
    args = [a() if callable(a) else a for a in args]
    short = pxla.UnloadedMeshExecutable.from_hlo
    seen = []

    def both_ways(*others, **named):
        asked = len(questions)
        executables = short(*others, **named), short.__wrapped__(*others, **named)
        seen.append((*(e._unloaded_executable for e in executables), len(questions) - asked))
        return executables[0]

    questions = []
    layouts = pxla._get_layouts_from_executable
    monkeypatch.setattr(pxla, "_get_layouts_from_executable", lambda *a: (questions.append(1), layouts(*a))[1])
    monkeypatch.setattr(pxla.UnloadedMeshExecutable, "from_hlo", both_ways)
    jax.jit(function, **options).lower(*args).compile()
    a, b, n_questions = seen[-1]
    for field in dataclasses.fields(a):
        if field.name != "xla_executable":
            assert getattr(a, field.name) == getattr(b, field.name), field.name
    assert n_questions == (1 if is_plain else 2)
    got, want = (e.xla_executable for e in (a, b))
    assert got.get_output_memory_kinds() == want.get_output_memory_kinds()
    assert list(map(str, got.get_output_layouts())) == list(map(str, want.get_output_layouts()))
    assert list(map(str, got.get_parameter_layouts())) == list(map(str, want.get_parameter_layouts()))
