# SPDX-License-Identifier: Apache-2.0
"""Tenon for JAX: finds the PJRT library and registers it. Whatever C can hold is in the library.

JAX calls `initialize` by the entry point group `jax_plugins`. Names it registers:

  tenon      the default backend, unless JAX_PLATFORMS lists others
  tenon_sim  the simulated accelerator, for tests; only where JAX_PLATFORMS lists it

JAX opens a client for every registered name, so nothing is registered that JAX_PLATFORMS leaves out.

The library is, in this order: what TENON_PJRT_LIBRARY (TENON_SIM_PJRT_LIBRARY) names, the one inside
the wheel, the one in the build folder of the source tree that this package was installed from.
"""

import os
from pathlib import Path

__version__ = "0.1.0"

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

    count = xla_bridge.num_cpu_devices.value
    options = {"cpu_device_count": count} if count >= 0 else {}
    if tuple(int(n) for n in jaxlib.__version__.split(".")[:2]) >= (0, 11):
        options["profiler_api_size"] = 104
    if name == "tenon_sim":
        options["platform_name"] = "cpu"
    return options


def _add_cpu(config, listed):
    """JAX puts the arguments of host callbacks, and of from_dlpack, on a device of the backend "cpu": without one
    they fail, so JAX_PLATFORMS=tenon means tenon,cpu. What comes first in the list stays the default."""
    if "cpu" not in listed and listed[0] in _NAMES:
        config.update("jax_platforms", ",".join([*listed, "cpu"]))


def initialize():
    """Registers the platforms; JAX calls it once, before it makes its first client."""
    from functools import partial

    import jax
    from jax._src import config, xla_bridge

    from tenon import ffi

    platforms = config.jax_platforms.value
    for name in platforms.split(",") if platforms else ["tenon"]:
        if name in _NAMES:
            path = library_path(name)
            xla_bridge.register_plugin(name, library_path=path, options=partial(_client_options, name),
                                       priority=_PRIORITY)
            ffi.connect(path, name)
    if platforms:
        _add_cpu(jax.config, platforms.split(","))
