# SPDX-License-Identifier: Apache-2.0
"""jaxlib's own "cpu" backend beside ours, made by the first who asks for it.

JAX puts the arguments of host callbacks, and of from_dlpack, on a device of the backend "cpu", so a process needs one
even where JAX_PLATFORMS lists only "tenon". Most programs never ask for it, and it costs a dozen threads.
"""

import threading

_LATER = object()  # stands for the client until it is made


class Backends(dict):
    """JAX's clients by name. "cpu" is there for whoever looks it up, but not for who counts or lists clients."""

    def __init__(self, make):
        super().__init__()
        self._make = make
        self._lock = threading.RLock()

    def __setitem__(self, name, client):
        if client is not _LATER:
            super().__setitem__(name, client)

    def __missing__(self, name):
        if name != "cpu" or not self:
            raise KeyError(name)
        with self._lock:
            if name not in self.keys():
                self[name] = self._make(name)
            return dict.__getitem__(self, name)

    def get(self, name, default=None):
        try:
            return self[name]
        except KeyError:
            return default

    def __contains__(self, name):
        return super().__contains__(name) or (name == "cpu" and bool(self))


def defer_cpu(ours):
    """From now on JAX makes no client for "cpu" together with the others where one of `ours` is the default."""
    from jax._src import config, distributed, xla_bridge

    make = xla_bridge._init_backend
    if getattr(make, "of_tenon", False):
        return

    def init(platform):
        listed = config.jax_platforms.value
        default = listed.split(",")[0] if listed else ours[0]
        there = default in ours and default in xla_bridge._backend_factories
        # Processes that work together must make theirs together.
        if not there or distributed.global_state.client is not None:
            return make(platform)
        if not isinstance(xla_bridge._backends, Backends):  # JAX has just begun, or begins once more
            xla_bridge._backends = Backends(make)
        return _LATER if platform == "cpu" else make(platform)

    init.of_tenon = True
    xla_bridge._init_backend = init


def list_cpu(platforms):
    """Adds "cpu" to JAX_PLATFORMS, where it can't be made later."""
    import jax

    if "cpu" not in platforms.split(","):
        jax.config.update("jax_platforms", platforms + ",cpu")
