# SPDX-License-Identifier: Apache-2.0
"""What jax.profiler and TENON_PROFILE record. Each case in its own interpreter."""

import json
import textwrap

from common import PLATFORM, python

PROGRAM = textwrap.dedent(f"""
    import jax, jax.numpy as jnp, numpy as np
    d = jax.devices("{PLATFORM}")[0]
    model = "\\n\\ndef model(x):\\n  return jnp.sort(jnp.sin(x) @ x, axis=0)"
    exec(compile(model, "/here/model.py", "exec"))
    f = jax.jit(model)
""")


def test_a_trace_has_ops_with_source_lines_and_compile_phases(tmp_path):
    python(PROGRAM + textwrap.dedent(f"""
        import glob, gzip, json
        with jax.profiler.trace({str(tmp_path)!r}, create_perfetto_trace=True):
            x = jax.device_put(np.asarray(np.ones((300, 301), np.float32)[:, :300]), d)
            np.array(f(x))
        [file] = glob.glob({str(tmp_path)!r} + "/**/perfetto_trace.json.gz", recursive=True)
        events = json.load(gzip.open(file))["traceEvents"]
        [ours] = [e["pid"] for e in events if e.get("name") == "process_name" and "Tenon" in e["args"]["name"]]
        mine = [e for e in events if e.get("ph") == "X" and e["pid"] == ours]
        by = {{c: {{e["name"] for e in mine if e["args"]["category"] == c}} for c in ("op", "run", "compile", "transfer")}}
        assert any("dot_general" in n for n in by["op"]) and any("sort" in n for n in by["op"]), by
        assert any("jit_model" in n for n in by["run"]), by
        assert {{"compile", "read", "verify", "plan"}} <= by["compile"], by
        assert "host to device" in by["transfer"], by
        dots = [e for e in mine if e["name"] == "stablehlo.dot_general" and e["args"]["category"] == "op"]
        assert dots and all("/here/model.py:4" in e["args"]["source"] for e in dots), dots
        assert all(e["args"]["hlo_module"] == "jit_model" for e in dots), dots
        sorts = [e for e in mine if e["name"] == "stablehlo.sort" and e["args"]["category"] == "op"]
        assert sorts and all("/here/model.py:4" in e["args"]["source"] for e in sorts), sorts  # within jnp.sort
    """))


def test_traces_come_one_after_the_other(tmp_path):
    python(PROGRAM + textwrap.dedent(f"""
        import glob
        for i in range(3):
            with jax.profiler.trace({str(tmp_path)!r} + f"/{{i}}"):
                f(jax.device_put(np.ones((64, 64), np.float32), d)).block_until_ready()
            [file] = glob.glob({str(tmp_path)!r} + f"/{{i}}/**/*.xplane.pb", recursive=True)
            bytes = open(file, "rb").read()
            assert b"/device:CUSTOM:Tenon" in bytes and b"stablehlo.sort" in bytes
    """))


def test_without_a_framework_there_are_a_trace_and_a_table(tmp_path):
    file = tmp_path / "t.json"
    python(PROGRAM + "f(jax.device_put(np.ones((64, 64), np.float32), d)).block_until_ready()\n",
           TENON_PROFILE=str(file))
    events = json.loads(file.read_text())["traceEvents"]
    assert any(e["name"] == "stablehlo.sort" and e["dur"] >= 0 and e["args"]["program"] for e in events)
    table = (tmp_path / "t.json.txt").read_text()
    assert "stablehlo.sort  f32[64,64]  jit_model" in table and table.startswith("op "), table
