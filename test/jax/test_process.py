# SPDX-License-Identifier: Apache-2.0
"""How the library behaves as a guest in somebody's process. Each case in its own interpreter."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from common import PLATFORM, python

VARIABLE = f"{PLATFORM.upper()}_PJRT_LIBRARY"

START = textwrap.dedent(f"""
    import os, signal, sys, threading, time
    import jax, jax.numpy as jnp, numpy as np
    def threads():
        return sorted(open(f"/proc/self/task/{{t}}/comm").read().strip() for t in os.listdir("/proc/self/task"))
    def ours():
        return [t for t in threads() if t.startswith(("tenon", "tn-", "sim"))]
    def dev():
        return jax.devices("{PLATFORM}")[0]
    def put(x):
        return jax.device_put(x, dev())
""")


def run(code, rc=0, **env):
    return python(START + textwrap.dedent(code), rc, **env)


# ---- Fork ----


def test_a_child_of_fork_works_with_arrays_of_its_own_and_refuses_the_parents():
    run("""
        x = put(np.arange(4.0))
        view = np.asarray(x)
        f = jax.jit(lambda x: x + 1)
        f(x).block_until_ready()
        pid = os.fork()
        if pid == 0:
            start = time.time()
            assert np.array_equal(f(put(np.arange(4.0))), [1, 2, 3, 4])
            assert float(jax.jit(lambda x: (x @ x).sum())(put(np.ones((200, 200), np.float32)))) == 200.0 ** 3
            for action in (lambda: f(x), lambda: jax.jit(lambda x: x * 2)(x), lambda: np.asarray(x + 1)):
                try:
                    action()
                except Exception as e:
                    assert "forked" in str(e), e
                else:
                    raise AssertionError("no error")
            try:
                x.block_until_ready()  # known to be ready, perhaps
            except Exception as e:
                assert "forked" in str(e), e
            del view
            assert time.time() - start < 30
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert np.array_equal(f(x), [1, 2, 3, 4])  # the parent goes on
    """)


def test_a_pool_of_forked_processes():
    run("""
        import multiprocessing, warnings
        warnings.simplefilter("ignore")
        put(np.ones(3)).block_until_ready()
        def work(i):
            return float(jax.jit(jnp.sum)(put(np.arange(i + 1.0))))
        got = None
        for attempt in range(4):
            with multiprocessing.get_context("fork").Pool(2) as pool:
                try:
                    got = pool.map_async(work, range(6)).get(20)
                    break
                except multiprocessing.TimeoutError:
                    pass  # a thread of jaxlib held a lock of its own when the process was forked
        assert got == [0, 1, 3, 6, 10, 15], got
    """)


def test_a_child_forked_before_the_first_client_works():
    run("""
        pid = os.fork()
        f = jax.jit(lambda x: jnp.sort(x @ x.T, axis=0).sum())
        x = np.ones((200, 200), np.float32)
        ok = float(f(put(x))) == 200.0 ** 3
        if pid == 0:
            os._exit(0 if ok else 1)
        assert ok and os.waitpid(pid, 0)[1] == 0
    """)


def test_a_child_that_only_execs_is_not_disturbed():
    run("""
        import subprocess
        x = put(np.ones(3))
        for _ in range(5):
            assert subprocess.run(["true"]).returncode == 0
        os.system("true")
        assert float(jax.jit(jnp.sum)(x)) == 3
    """)


# ---- Ctrl-C ----


def interrupt(code, ready, **env):
    """Runs code until it prints `ready`, sends SIGINT, and returns the output and the seconds until it ended."""
    child = subprocess.Popen([sys.executable, "-u", "-c", START + textwrap.dedent(code)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env={**os.environ, **env})
    try:
        while (line := child.stdout.readline()).strip() != ready:
            assert line, child.stderr.read()
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        start = time.time()
        out, err = child.communicate(timeout=60)
        return child.returncode, out, err, time.time() - start
    finally:
        child.kill()


def test_a_run_without_end_can_be_interrupted_and_the_process_ends():
    rc, out, err, seconds = interrupt("""
        f = jax.jit(lambda x: jax.lax.while_loop(lambda c: c[0] < 1e30, lambda c: (c[0] * 1, c[1] + 1), (x, x)))
        x = put(np.float32(1))
        y = f(x)
        print("go")
        y[0].block_until_ready()
    """, "go")
    assert "KeyboardInterrupt" in err and rc != 0, (rc, err)
    assert seconds < 20, seconds


@pytest.mark.skipif(PLATFORM != "tenon", reason="a device with one queue is busy until the loop ends")
def test_after_an_interrupted_run_without_end_other_programs_run():
    rc, out, err, seconds = interrupt("""
        from jax.sharding import Mesh, PartitionSpec as P
        forever = lambda x: jax.lax.while_loop(lambda c: c[0] < 1e30, lambda c: jnp.stack([c[0] * 1, c[1] + 1]), x)
        mesh = Mesh(np.array(jax.devices()[:2]), ("i",))
        over = lambda f: jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"),
                                               check_vma=False))
        both = over(lambda x: jax.lax.while_loop(lambda c: c[0] < 1e30, lambda c: jax.lax.psum(c, "i") / 2, x))
        runs = [jax.jit(forever)(put(np.float32([1, 2]))), both(np.ones(4, np.float32))]
        print("go")
        try:
            runs[0].block_until_ready()
        except KeyboardInterrupt:
            print("caught")
        assert int(jax.jit(lambda x: (x @ x).sum())(put(np.ones((300, 300), np.float32)))) == 300 ** 3
        assert np.array_equal(over(lambda x: jax.lax.psum(x, "i"))(np.arange(4.0)), [2, 4, 2, 4])
        assert not runs[0].is_ready()
        print("fine")
    """, "go", JAX_NUM_CPU_DEVICES="2")
    assert rc == 0 and "caught" in out and "fine" in out and seconds < 30, (rc, out, err, seconds)


def test_after_an_interrupted_wait_the_work_goes_on():
    rc, out, err, seconds = interrupt("""
        n = 3_000_000
        f = jax.jit(lambda x: jax.lax.fori_loop(0, n, lambda i, c: c + 1, x))
        y = f(put(np.int32(0)))
        print("go")
        try:
            while True:
                y.block_until_ready()
                time.sleep(0.01)
        except KeyboardInterrupt:
            print("caught")
        assert int(y) == n and int(jax.jit(lambda x: x * 2)(y)) == 2 * n
        print("fine")
    """, "go")
    assert rc == 0 and "caught" in out and "fine" in out, (rc, out, err)


def test_a_compilation_can_be_interrupted():
    rc, out, err, seconds = interrupt("""
        def f(x):
            for i in range(1500):
                x = jnp.sin(x) * i + x[::-1]
            return x
        x = put(np.ones(8, np.float32))
        lowered = jax.jit(f).lower(x)
        print("go")
        try:
            while True:
                lowered.compile()
        except KeyboardInterrupt:
            pass
        assert int(jax.jit(lambda x: x.sum())(x)) == 8
        print("fine")
    """, "go")
    assert rc == 0 and "fine" in out and seconds < 30, (rc, out, err, seconds)


# ---- Words ----


def noise(code, **env):
    """What goes to stderr besides JAX's own remark about platforms that it does not know."""
    lines = run(code, **env).stderr.splitlines()
    return [line for line in lines if "is experimental and not all JAX functionality" not in line]


PROGRAM = """
    f = jax.jit(lambda x: (x @ x).sum())
    f(put(np.ones((50, 50), np.float32))).block_until_ready()
"""


def test_it_is_quiet():
    assert noise(PROGRAM) == []


def test_the_environment_sets_the_log_level():
    assert any(line.startswith("tenon runtime info:") for line in noise(PROGRAM, TN_LOG="info"))
    assert any(line.startswith("tenon passes debug:") for line in noise(PROGRAM, TN_LOG="passes:debug"))


def test_python_sets_the_log_level_before_and_after_the_client_is_made():
    assert any("tenon runtime info: client with" in line for line in noise("""
    import tenon
    tenon.configure(log="runtime:info")
    """ + PROGRAM))
    lines = noise(PROGRAM + """
    import tenon
    tenon.configure(log="passes:debug")
    jax.jit(lambda x: x - 1)(put(np.ones(3)))
    print("--", file=sys.stderr)
    tenon.configure(log="off")
    jax.jit(lambda x: x - 2)(put(np.ones(3)))
    """)
    end = lines.index("--")
    assert any(line.startswith("tenon passes debug:") for line in lines[:end]) and lines[end + 1:] == [], lines


# ---- Threads ----

COUNT = PROGRAM + """
    print(len([t for t in ours() if t.startswith("tenon-worker")]) + 1)
"""


@pytest.mark.parametrize("how, code, env, expected", [
    ("option", "import tenon; tenon.configure(num_threads=3)", {}, 3),
    ("environment", "", {"TN_THREADS": "5"}, 5),
    ("option beats environment", "import tenon; tenon.configure(num_threads=2)", {"TN_THREADS": "5"}, 2),
    ("affinity", "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})", {}, 1),
])
def test_the_number_of_threads_follows(how, code, env, expected):
    assert int(run(code + "\n" + textwrap.dedent(COUNT), **env).stdout) == expected


def test_an_option_that_does_not_exist_is_named():
    run("""
        import tenon
        tenon.configure(num_thread=3)
        try:
            dev()
        except Exception as e:
            assert "num_thread" in str(e), e
        else:
            raise AssertionError("accepted")
    """, JAX_PLATFORMS=PLATFORM)


# ---- The end ----


def test_nothing_is_left_after_the_client_is_gone():
    run("""
        import gc
        from jax._src import xla_bridge
        from jax.extend.backend import clear_backends
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
        def once():
            f = jax.jit(lambda x: jnp.sort(x @ x, axis=0))
            f(put(np.ones((500, 500), np.float32))).block_until_ready()
        for i in range(12):
            once()
            assert ours(), threads()
            clear_backends()
            jax.clear_caches()
            gc.collect()
            assert not ours(), ours()
            if i == 3:
                before = resident()
        grown = resident() - before
        assert grown < 24 << 20, grown
    """)


def test_two_clients_of_one_library():
    run(f"""
        from jaxlib import xla_client
        from jax._src import xla_bridge
        a = dev().client
        n = len(ours())
        b = xla_bridge.make_pjrt_c_api_client("{PLATFORM}", {{"platform_name": "cpu"}})
        assert b is not a and len(ours()) > n
        x = jax.device_put(np.arange(5.0), dev())
        y = jax.device_put(np.arange(5.0), b.local_devices()[0])
        f = jax.jit(lambda x: x * 2)
        assert np.array_equal(f(x), f(y)) and f(y).devices() == {{b.local_devices()[0]}}
    """)


def test_two_plugins_in_one_process(tmp_path):
    """The library twice under two names, and jaxlib's CPU beside them."""
    run(f"""
        import shutil, tenon
        from jax._src import xla_bridge
        other = {str(tmp_path)!r} + "/libother.so"
        shutil.copy(tenon.library_path("{PLATFORM}"), other)
        xla_bridge.register_plugin("other", library_path=other, options={{"platform_name": "cpu"}})
        for i in range(3):
            for name in ("{PLATFORM}", "other", "cpu"):
                x = jax.device_put(np.arange(6.0), jax.devices(name)[0])
                assert float(jax.jit(lambda x: (x * i).sum())(x)) == 15 * i
                g = jax.grad(lambda x: jnp.sin(x).sum())(x)
                assert np.allclose(g, np.cos(np.arange(6.0)), atol=1e-6) and g.devices() == x.devices()
    """, JAX_PLATFORMS=f"{PLATFORM},other,cpu")
