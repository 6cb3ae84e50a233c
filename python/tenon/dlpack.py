# SPDX-License-Identifier: Apache-2.0
"""Host memory that comes by DLPack becomes arrays of our devices, where ours is the default backend.

JAX gives what DLPack calls a CPU to the backend "cpu", which is jaxlib's own. An array from there is committed to it, so
what is computed from it would not run on Tenon. Where the memory can be read in place it is; jaxlib can't copy through the
C API here, so it makes a copy on its own backend, which then moves.
"""

import functools
import threading

PLATFORM = "tenon"  # whose devices address host memory

_call = threading.local()  # what from_dlpack is about, for what it calls


class _Module:
    """A module with some of its functions replaced."""

    def __init__(self, module, **functions):
        self.__dict__.update(functions)
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)


def _client_of(source, target):
    """Where the array is to be: on the device that is asked for, else where an array of JAX comes from; None: anywhere."""
    import jax

    devices = {target} if isinstance(target, jax.Device) else getattr(target, "device_set", ())
    if not devices and isinstance(source, jax.Array):
        devices = source.devices()
    return next(iter(devices)).client if devices else None


def take_host_memory():
    """Changes what jax._src.dlpack looks up; before JAX 0.8 it can't refuse to copy, and is left as it is."""
    import jax.dlpack
    from jax._src import dlpack

    if not hasattr(dlpack, "_jax") or isinstance(dlpack.xla_bridge, _Module):
        return
    bridge, lib, take = dlpack.xla_bridge, dlpack._jax, dlpack.from_dlpack

    def ours():
        return bridge.backends().get(PLATFORM)

    def get_backend(platform=None):
        wanted = getattr(_call, "client", None) or bridge.get_backend()
        return wanted if platform == "cpu" and wanted is ours() else bridge.get_backend(platform)

    def to_buffer(capsule, device, stream, copy=None, *more):
        if device.client is not ours():
            return lib.dlpack_managed_tensor_to_buffer(capsule, device, stream, copy, *more)
        try:
            array = lib.dlpack_managed_tensor_to_buffer(capsule, device, stream, False, *more)
        except dlpack.xla_client.XlaRuntimeError:
            if copy is False:
                raise
            there = bridge.get_backend("cpu").local_devices()[0]
            array = lib.dlpack_managed_tensor_to_buffer(capsule, there, None, copy, *more)
            # With a type that can move: without x64 the array may have one that device_put changes unseen.
            array = dlpack.jnp.asarray(array, dtype=dlpack.dtypes.canonicalize_dtype(array.dtype))
            array = dlpack.device_put(array, device)
        return dlpack.jnp.array(array, copy=True) if copy else array

    @functools.wraps(take)
    def from_dlpack(external_array, device=None, copy=None):
        _call.client = _client_of(external_array, device)
        try:
            return take(external_array, device, copy)
        finally:
            _call.client = None

    dlpack.xla_bridge = _Module(bridge, get_backend=get_backend)
    dlpack._jax = _Module(lib, dlpack_managed_tensor_to_buffer=to_buffer)
    dlpack.from_dlpack = jax.dlpack.from_dlpack = from_dlpack
