# SPDX-License-Identifier: Apache-2.0
"""Tenon for JAX: finds the PJRT library and registers it. Whatever C can hold is in the library.

JAX calls `initialize` by the entry point group `jax_plugins`. Names it registers:

  tenon      the default backend, unless JAX_PLATFORMS lists others
  tenon_sim  the simulated accelerator, for tests; only where JAX_PLATFORMS lists it

JAX opens a client for every registered name, so nothing is registered that JAX_PLATFORMS leaves out.

The library is, in this order: what TENON_PJRT_LIBRARY (TENON_SIM_PJRT_LIBRARY) names, the one inside
the wheel, the one in the build folder of the source tree that this package was installed from.
"""

import ctypes
import os
import threading
from collections.abc import Mapping
from pathlib import Path

__version__ = "0.1.0"

_options = {}  # what `configure` was told
_parents = []  # clients from before a fork
_loaded = []  # the libraries that JAX has loaded, as it hands them around

_NAMES = ("tenon", "tenon_sim")
_PRIORITY = 500  # above jaxlib's cpu (0) and other plugins (400): who installs Tenon wants it used


def library_path(name="tenon"):
    """The path of the library behind the platform `name`; FileNotFoundError says where it was looked for."""
    variable = f"{name.upper()}_PJRT_LIBRARY"
    if chosen := os.environ.get(variable):
        if not os.path.isfile(chosen):
            raise FileNotFoundError(f"{variable}={chosen}: no such file")
        return os.path.abspath(chosen)

    file, here = f"lib{name}_pjrt.so", Path(__file__).resolve().parent
    places = [here / file, here.parents[1] / "build" / file]
    for place in places:
        if place.is_file():
            return str(place)
    raise FileNotFoundError(f"{file} is not in " + " or ".join(str(p.parent) for p in places) +
                            f"; set {variable} to its path")


def _client_options(name):
    """Create options of the library: what JAX's configuration says about CPU devices, and for the simulated
    accelerator the platform name by which JAX chooses the lowering rules that Tenon knows, donation among them."""
    import jaxlib
    from jax._src import xla_bridge

    flag = getattr(xla_bridge, "num_cpu_devices", None)  # before 0.5.0 JAX has none
    count = flag.value if flag is not None else int(os.environ.get("JAX_NUM_CPU_DEVICES", -1))
    options = {"cpu_device_count": count} if count >= 0 else {}
    version = tuple(int(n) for n in jaxlib.__version__.split(".")[:2])
    if version >= (0, 11):
        options["profiler_api_size"] = 104
    if version < (0, 5):
        from jaxlib.mlir.dialects import stablehlo

        options["stablehlo_version"] = stablehlo.get_current_version()
    if name == "tenon_sim":
        options["platform_name"] = "cpu"
    return options | _options


class _Options(Mapping):
    """The options of a platform, asked for when the client is made: JAX before 0.6 takes a mapping, later also a function."""

    def __init__(self, name):
        self._name = name

    def __call__(self):
        return _client_options(self._name)

    def __getitem__(self, key):
        return self()[key]

    def __iter__(self):
        return iter(self())

    def __len__(self):
        return len(self())


def configure(**options):
    """Sets create options of the clients to come, e.g. `num_threads=4` or `log="runtime:debug"`; None takes one back.

    `tenon options` lists them. What to log (as in the variable TN_LOG) also changes for clients that are there."""
    for name, value in options.items():
        _options.pop(name, None)
        if value is not None:
            _options[name] = value
    if "log" in options and _loaded:
        from jaxlib import xla_client

        for library in _loaded:  # a description of devices takes the same options, and costs nothing
            xla_client.make_c_api_device_topology(library, "", log=options["log"] or "")


def _start_over_in_child():
    """After fork the child has none of the threads that compile and run: it gets clients of its own at the next use.
    Arrays and programs of the parent's clients give an error there, where JAX would wait for ever to compile for them."""
    import jax
    from jax._src import compiler, xla_bridge

    parents = list(xla_bridge._backends.values())
    if not parents:
        return
    _parents.extend(parents)
    for client in parents:  # never destroyed, since that would wait for their threads
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))
    xla_bridge._backend_lock = threading.Lock()  # which another thread may have held
    xla_bridge._clear_backends()
    jax.clear_caches()
    for name in ("backend_compile_and_load", "backend_compile"):
        if hasattr(compiler, name):
            setattr(compiler, name, _refuse_parents(getattr(compiler, name)))


def _refuse_parents(compile):
    def compile_unless_forked(backend, *args, **kwargs):
        if any(backend is parent for parent in _parents):
            raise RuntimeError("this process was forked after the client was made, and an argument belongs to the "
                               "parent's client: make arrays anew in the child, or start it with spawn instead")
        return compile(backend, *args, **kwargs)
    return compile_unless_forked


def initialize():
    """Registers the platforms; JAX calls it once, before it makes its first client."""
    import jax
    from jax._src import config, distributed, xla_bridge

    from tenon import backends, direct, dlpack, ffi

    # Old versions of jaxlib otherwise take only plugins made for their own version of the C API.
    os.environ.setdefault("ENABLE_PJRT_COMPATIBILITY", "1")
    os.register_at_fork(after_in_child=_start_over_in_child)
    getattr(xla_bridge, "_nonexperimental_plugins", set()).add("tenon")  # or JAX warns each time
    platforms = config.jax_platforms.value
    for name in platforms.split(",") if platforms else ["tenon"]:
        if name in _NAMES:
            path = library_path(name)
            _loaded.append(xla_bridge.register_plugin(name, library_path=path, options=_Options(name),
                                                      priority=_PRIORITY))
            ffi.connect(path, name)
    backends.defer_cpu(_NAMES)
    dlpack.take_host_memory()
    direct.connect()
    if distributed.global_state.client is not None and platforms and platforms.split(",")[0] in _NAMES:
        backends.list_cpu(platforms)
