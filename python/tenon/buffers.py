# SPDX-License-Identifier: Apache-2.0
"""What the callbacks of jax.experimental.buffer_callback get: buffers in place, for the time of the call."""

import numpy as np


class Buffer:
    """An operand (read only) or a result of the call, as an array that lives where the program has it."""

    def __init__(self, array, writeable):
        self._array = array
        self.writeable = writeable

    def _alive(self):
        if self._array is None:
            raise RuntimeError("the buffer of a callback was used after the callback had returned")
        return self._array

    @property
    def shape(self):
        return self._alive().shape

    @property
    def dtype(self):
        return self._alive().dtype

    @property
    def ndim(self):
        return self._alive().ndim

    def __array__(self, dtype=None, copy=None):
        view = self._alive().view()
        view.flags.writeable = self.writeable
        if copy or (dtype is not None and np.dtype(dtype) != view.dtype):
            if copy is False:
                raise ValueError(f"a buffer of {view.dtype} becomes {dtype} only in a copy")
            return np.array(view, dtype=dtype)
        return view

    def __dlpack__(self, **kwargs):
        return self._alive().__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self._alive().__dlpack_device__()


class ExecutionContext:
    """What a callback may ask about its call."""

    @property
    def stage(self):
        from jax.experimental import buffer_callback
        return buffer_callback.ExecutionStage.EXECUTE

    @property
    def stream(self):
        from jax.errors import JaxRuntimeError
        raise JaxRuntimeError("UNIMPLEMENTED: XLA FFI GPU context is not available")


def call(callback, n_operands, *arrays):
    """Called by the library, with arrays over the memory of operands and results."""
    buffers = [Buffer(a, i >= n_operands) for i, a in enumerate(arrays)]
    try:
        callback(ExecutionContext(), *buffers)
    finally:
        for b in buffers:
            b._array = None
