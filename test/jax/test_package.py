# SPDX-License-Identifier: Apache-2.0
"""The Python package: how JAX finds the library, and what users see of it. Each case in its own interpreter."""

import os
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest
import tenon
from common import PLATFORM, python

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = f"{PLATFORM.upper()}_PJRT_LIBRARY"

only_tenon = pytest.mark.skipif(PLATFORM != "tenon", reason="the package registers the simulator only when asked")


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]
    assert project["version"] == tenon.__version__
    assert f"version: '{tenon.__version__}'" in (ROOT / "meson.build").read_text()


def test_the_client_is_ours():
    python(f"""
        import jax
        ours, theirs = jax.devices("{PLATFORM}"), jax.devices("cpu")
        assert ours[0].client is not theirs[0].client
        assert jax.devices() == ours
        assert "tenon" in ours[0].client.platform_version.lower(), ours[0].client.platform_version
    """, JAX_PLATFORMS=f"{PLATFORM},cpu")


@only_tenon
def test_installed_it_is_the_default():
    python("""
        import jax
        assert jax.devices()[0].client is jax.devices("tenon")[0].client
        assert jax.devices("cpu")[0].client is not jax.devices()[0].client
        assert int(jax.jit(lambda x: x + 1)(41)) == 42
    """, JAX_PLATFORMS=None)


def test_cpu_first_leaves_it_beside():
    python(f"""
        import jax
        assert jax.devices()[0].client is jax.devices("cpu")[0].client
        x = jax.jit(lambda x: x + 1)(jax.device_put(41, jax.devices("{PLATFORM}")[0]))
        assert int(x) == 42 and x.devices() == {{jax.devices("{PLATFORM}")[0]}}
    """, JAX_PLATFORMS=f"cpu,{PLATFORM}")


def test_alone():
    python(f"""
        import jax
        assert jax.devices() == jax.devices("{PLATFORM}") and int(jax.jit(lambda x: x + 1)(41)) == 42
    """, JAX_PLATFORMS=PLATFORM)


@pytest.mark.parametrize("platforms", [PLATFORM, f"{PLATFORM},cpu"] + [None] * (PLATFORM == "tenon"))
def test_the_cpu_client_is_made_for_who_asks(platforms):
    python("""
        import os
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        import jax, numpy as np
        from jax._src import xla_bridge
        from jax.extend.backend import clear_backends
        def made():
            return list(xla_bridge.backends())
        def threads():
            return len(os.listdir("/proc/self/task"))
        for again in (False, True):
            ours = jax.devices()
            assert len(made()) == 1 and jax.default_backend() == "cpu" and "cpu" in xla_bridge.backends()
            assert int(jax.jit(lambda x: (x @ x).sum())(np.ones((8, 8), np.int32))) == 512
            assert len(made()) == 1 and (again or threads() <= 13), (made(), threads())
            f = lambda v: jax.pure_callback(lambda a: np.asarray(a) * 2, jax.ShapeDtypeStruct((), np.float32), v)
            assert float(jax.jit(f)(np.float32(21))) == 42
            x = np.arange(3.0, dtype=np.float32)
            assert np.array_equal(jax.dlpack.from_dlpack(x), x)
            theirs = jax.devices("cpu")
            assert len(made()) == 2 and made()[1] == "cpu", made()
            assert theirs == jax.local_devices(backend="cpu") and theirs[0].client is not ours[0].client
            assert jax.devices() == ours
            clear_backends()
            jax.clear_caches()
    """, JAX_PLATFORMS=platforms, JAX_NUM_CPU_DEVICES=None, OPENBLAS_NUM_THREADS="1")


def test_a_backend_that_is_not_there_is_named():
    run = python("import jax; jax.devices('nix')", rc=1)
    assert "Unknown backend" in run.stderr and "nix" in run.stderr


def test_number_of_devices():
    for env, code, want in [(None, "", 1), ("3", "", 3), (None, "jax.config.update('jax_num_cpu_devices', 5)", 5)]:
        python(f"""
            import jax
            {code}
            assert len(jax.devices("{PLATFORM}")) == {want}, jax.devices("{PLATFORM}")
        """, JAX_NUM_CPU_DEVICES=env)


def test_a_missing_library_is_named():
    run = python("import jax; jax.devices()", rc=1, **{VARIABLE: "/nowhere/lib.so"})
    assert f"{VARIABLE}=/nowhere/lib.so: no such file" in run.stderr


@only_tenon
def test_a_missing_library_leaves_the_rest_of_jax():
    run = python("import jax; assert jax.default_backend() == 'cpu'; assert int(jax.jit(lambda x: x + 1)(41)) == 42",
                 JAX_PLATFORMS=None, **{VARIABLE: "/nowhere/lib.so"})
    assert f"{VARIABLE}=/nowhere/lib.so: no such file" in run.stderr


def test_a_file_that_is_no_plugin_is_refused():
    run = python("import jax; jax.devices()", rc=1, **{VARIABLE: __file__})
    assert os.path.basename(__file__) in run.stderr


def test_without_the_package():
    library = tenon.library_path(PLATFORM)
    python("""
        import jax
        x = jax.jit(lambda x: x * 2)(jax.device_put(21, jax.devices("other")[0]))
        assert int(x) == 42
    """, JAX_PLATFORMS="other,cpu", PJRT_NAMES_AND_LIBRARY_PATHS=f"other:{library}")


def test_exit_is_clean_while_work_runs():
    run = python("""
        import jax, jax.numpy as jnp
        y = jax.jit(lambda v: jax.lax.fori_loop(0, 200, lambda _, w: jnp.sin(w), v))(jnp.ones(100000))
    """)
    assert not re.search("error|abort|terminate", run.stderr.replace("is experimental", ""), re.I), run.stderr


@only_tenon
def test_wheel(tmp_path):
    build = os.environ.get("BUILD", "build")
    subprocess.run([ROOT / "tools/wheel.sh", build, tenon.library_path(), tmp_path], check=True, capture_output=True)
    wheel, = tmp_path.glob("*.whl")
    assert re.fullmatch(rf"tenon_pjrt-{tenon.__version__}-py3-none-linux_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as z:
        names = set(z.namelist())
        assert {"tenon/__init__.py", "tenon/libtenon_pjrt.so"} <= names
        assert z.getinfo("tenon/libtenon_pjrt.so").file_size <= 4_000_000
        z.extractall(tmp_path / "site")
    # The extracted wheel comes first on the path, so that JAX finds its entry point and its library.
    python(f"""
        import tenon
        assert tenon.library_path() == r"{tmp_path}/site/tenon/libtenon_pjrt.so", tenon.library_path()
        import jax
        assert int(jax.jit(lambda x: x + 1)(jax.device_put(41, jax.devices("tenon")[0]))) == 42
    """, PYTHONPATH=str(tmp_path / "site"), TENON_PJRT_LIBRARY=None)
