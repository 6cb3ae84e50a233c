# SPDX-License-Identifier: Apache-2.0
"""Programs from JAX to Tenon as they are, past the passes and versions of jaxlib.

For a plugin's client jaxlib runs nine MLIR passes over each program and rewrites it in a versioned form, which takes
several times as long as Tenon's compiler. Tenon reads StableHLO and CHLO as JAX makes them, so where a program is for
one device it is written down as bytecode and loaded the way stored executables are (PJRT_Executable_DeserializeAndLoad).

Before the bytes of a stored executable jaxlib expects a description of its results, in a form that differs between
versions. With a version that isn't known the first program goes jaxlib's way and is stored: if its description is what
`_Form` would have written, later ones go directly.

Before it gets there JAX makes options for XLA that are the same each time, walks the program to choose how much XLA
shall log of it, and makes the key of a stored cache even where there is none; then it asks the executable where its
arguments and results are and how they are laid out, and compares that with what it knows. All this costs more than the
compiler takes for a small program. With versions whose way is known, `_shorten` leaves it out for programs of one device
that say nothing of places and layouts: there is one answer to each of these questions.

What can't, or fails, goes jaxlib's way, as everything does with TENON_DIRECT=0: programs for several devices, with
layouts or memories of their own, and with functions of CHLO that Tenon wants expanded (lgamma, digamma, zeta, ...).
"""

import dataclasses
import functools
import inspect
import io
import os
import re
import sys

# ifrt.DTypeProto.Kind by MLIR's names
_KINDS = {
    "i1": 1, "i8": 2, "i16": 3, "i32": 4, "i64": 5, "ui8": 6, "ui16": 7, "ui32": 8, "ui64": 9, "f16": 10, "f32": 11,
    "f64": 12, "complex<f32>": 15, "bf16": 16, "complex<f64>": 18, "f8E5M2": 19, "f8E4M3FN": 20, "i4": 21, "ui4": 22,
    "f8E4M3B11FNUZ": 23, "f8E5M2FNUZ": 24, "f8E4M3FNUZ": 25, "i2": 26, "ui2": 27, "f8E4M3": 28, "f8E3M4": 29,
    "f4E2M1FN": 30, "f8E8M0FNU": 31,
}  # fmt: skip
_OUTPUT, _NAME = 5, 7  # fields of SerializedXlaExecutableMetadata; 6 describes parameters, which jaxlib doesn't ask for
_BYTECODE = 4  # the newest version in which attributes have names
_OTHERWISE = (b"mhlo.layout_mode", b"mhlo.memory_kind")  # results that are not as _Form says
_STORED = b"TENONEXE"  # what Tenon's executables begin with
_PROGRAM = b"TENONDIR"  # what goes before options and a program instead


def _is_ours(backend):
    return "\ntenon " in backend.platform_version


def _varint(n):
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _field(number, content):
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _read_varint(data, at):
    n = shift = 0
    while True:
        n |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return n, at


def _fields(data):
    """The number of each field of a message, and its bytes with the tag."""
    at = 0
    while at < len(data):
        begin = at
        tag, at = _read_varint(data, at)
        if tag & 7 == 0:
            _, at = _read_varint(data, at)
        elif tag & 7 == 2:
            n, at = _read_varint(data, at)
            at += n
        else:
            raise ValueError(f"wire type {tag & 7}")
        yield tag >> 3, data[begin:at]


@functools.lru_cache(maxsize=4096)
def _output(shape, element, memory_kind):
    """An OutputSpec for an array: dense, row-major, in the default memory. KeyError: JAX has no array of that type."""
    dims = b"".join(map(_varint, shape))
    shape = _field(1, dims) if dims else b""
    kind = _field(2, b"\x08" + _varint(_KINDS[element]))
    return _field(_OUTPUT, _field(1, shape) + kind + _field(4, memory_kind) + _field(5, b"") + _field(6, shape))


@functools.lru_cache(maxsize=4096)
def _output_of_type(type, memory_kind):
    """The same for "tensor<2x3xf32>"."""
    dims, element = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", type).groups()
    return _output(tuple(int(n) for n in dims.split("x")[:-1]), element, memory_kind)


def _outputs(module, device):
    from jaxlib.mlir import ir

    for op in module.body.operations:
        if op.operation.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == "main":
            results = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).results
            kind = device.default_memory().kind.encode()
            return b"".join(_output_of_type(str(t), kind) for t in results)
    raise ValueError("no main")


class _Form:
    """How a jaxlib describes a stored executable: `before` and `after` its results."""

    def __init__(self, before, after, is_bare=False):
        self.before, self.after = before, after
        self.is_bare = is_bare  # older versions: no description

    def __eq__(self, other):
        return vars(self) == vars(other)

    @classmethod
    def of(cls, stored, outputs):
        """The form of a stored executable that has these results; ValueError: they are described in another way."""
        if stored.startswith(_STORED):
            return cls(b"", b"", is_bare=True)
        size, at = _read_varint(stored, 0)
        if not stored.startswith(_STORED, at + size):
            raise ValueError("no executable behind the description")
        fields = list(_fields(stored[at:at + size]))
        if b"".join(f for n, f in fields if n == _OUTPUT) != outputs:
            raise ValueError("results are described in another way")
        return cls(b"".join(f for n, f in fields if n < _OUTPUT), b"".join(f for n, f in fields if n > _NAME))

    def describe(self, outputs):
        if self.is_bare:
            return b""
        message = self.before + outputs + self.after
        return _varint(len(message)) + message


# By version of jaxlib. With another one it is learnt, at the price of one program compiled jaxlib's way.
_KNOWN = {"0.10.2": _Form(b"\x08\x03\x12\x09pjrt_ifrt", b"J\x00")}


_SHORTENED = ("0.10.2",)  # versions of JAX whose compile is what _shorten takes the place of


class Compiler:
    """Takes the place of JAX's backend_compile_and_load for clients of Tenon."""

    def __init__(self, jaxlibs, form):
        self._jaxlibs = jaxlibs
        self._form = form  # None until it is known
        self._is_off = False
        self.n_direct = 0  # programs that went directly

    def __call__(self, backend, module, executable_devices, options, host_callbacks, *others, **named):
        def jaxlibs():
            return self._jaxlibs(backend, module, executable_devices, options, host_callbacks, *others, **named)

        if (self._is_off or others or named or not _is_ours(backend) or
                options.num_replicas != 1 or options.num_partitions != 1 or len(executable_devices) != 1):
            return jaxlibs()
        try:
            outputs = _outputs(module, executable_devices[0])
        except Exception:  # a token, a type that JAX has no array of, ...
            return jaxlibs()
        if self._form is None:
            executable = jaxlibs()
            self._learn(executable, outputs)
            return executable
        try:
            return self.load(backend, module, executable_devices, options.SerializeAsString(), host_callbacks, outputs)
        except Exception:  # the same error comes by jaxlib's way, through JAX's handlers
            return jaxlibs()

    def knows_form(self):
        return self._form is not None and not self._is_off

    def load(self, backend, module, devices, options, host_callbacks, outputs):
        """The executable of a program with these `outputs` and serialized options: past jaxlib, which would take them
        apart and put them together again. An exception: it can't go directly, or is wrong."""
        data = io.BytesIO()
        data.write(self._form.describe(outputs) + _PROGRAM + len(options).to_bytes(8, sys.byteorder) + options)
        module.operation.write_bytecode(data, desired_version=_BYTECODE)
        code = data.getvalue()
        if any(word in code for word in _OTHERWISE):
            raise ValueError("results that have layouts or memories of their own")
        executable = backend.deserialize_executable(code, devices, None, host_callbacks)
        self.n_direct += 1
        return executable

    def _learn(self, executable, outputs):
        if not outputs:
            return
        try:
            self._form = _Form.of(executable.serialize(), outputs)
        except Exception:
            self._is_off = True


# Element types of which an array's place in memory is known by its shape, by JAX's names.
_WHOLE_BYTES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "ui8", "uint16": "ui16",
    "uint32": "ui32", "uint64": "ui64", "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
}  # fmt: skip


def _shorten(pxla, ours):
    """Puts a shorter way for Tenon's programs before pxla.UnloadedMeshExecutable.from_hlo, JAX's from a program to an
    executable with all that is known of it. Who stands before JAX's compiler later on still gets to see all programs."""
    import numpy as np
    from jax._src import compilation_cache, compiler, config, dispatch, profiler, sharding_impls
    from jax._src.layout import Layout

    Unloaded = pxla.UnloadedMeshExecutable
    jaxs = Unloaded.from_hlo
    in_jaxs_place = compiler.backend_compile_and_load
    as_given = [f.name for f in dataclasses.fields(Unloaded) if f.name in inspect.signature(jaxs).parameters]
    load = profiler.annotate_function(ours.load, name="backend_compile_and_load")
    said = "Finished XLA compilation of {fun_name} in {elapsed_time:.9f} sec"  # as JAX says it, for who looks for it in logs
    elements = {np.dtype(name): element for name, element in _WHOLE_BYTES.items()}  # asked for its name a dtype takes its time
    unspecified, on_device = sharding_impls.UnspecifiedValue, sharding_impls.SingleDeviceSharding
    known = {}  # options by device (its number: nothing that keeps a client); what they say of the program is for XLA

    @functools.lru_cache(maxsize=64)
    def row_major(n_dims):
        return Layout(tuple(range(n_dims)), (), 0)

    def is_plain(of, devices):
        """Whether nothing but the device, the types and the code is said of a program."""
        if devices is None or len(devices) != 1 or not _is_ours(of["backend"]) or not ours.knows_form():
            return False
        if compiler.backend_compile_and_load is not in_jaxs_place:
            return False
        if any(of[k] for k in ("compiler_options_kvs", "ordered_effects", "host_callbacks", "mut", "tuple_args", "pgle_profiler")):
            return False
        if config.enable_pgle.value or config.compilation_cache_expect_pgle.value or config.jax_dump_ir_to.value:
            return False
        if compilation_cache.is_persistent_cache_enabled() or compilation_cache._cache is not None:
            return False
        if of["shape_poly_state"] and of["shape_poly_state"].uses_dim_vars:
            return False
        if of["context_mesh"] and not of["context_mesh"].empty:
            return False
        kind = devices[0].default_memory().kind
        for shardings in (of["in_shardings"], of["out_shardings"], of["intermediate_shardings"] or ()):
            if not all(type(s) is unspecified or type(s) is on_device and s.memory_kind == kind for s in shardings):
                return False
        if any(layout is not None for layouts in (of["in_layouts"], of["out_layouts"]) for layout in layouts):
            return False
        return all(getattr(a, "dtype", None) in elements for a in (*of["global_in_avals"], *of["global_out_avals"]))

    def compile(name, hlo, backend, devices, out_avals):
        device = devices[0]
        options = known.get(device.id)
        if options is None:
            options = pxla.create_compile_options(hlo, False, (), (), backend, np.array([device], object), {})
            known[device.id] = options = options.SerializeAsString()
        kind = device.default_memory().kind.encode()
        outputs = b"".join(_output(a.shape, elements[a.dtype], kind) for a in out_avals)
        log = dispatch.log_elapsed_time(said, fun_name=name, event=dispatch.BACKEND_COMPILE_EVENT)
        log.__enter__()
        executable = load(backend, hlo, devices, options, (), outputs)
        log.__exit__(None, None, None)  # only now: what fails here is logged where JAX compiles it
        pxla.util.test_event("pxla_cached_compilation")
        return executable

    @functools.wraps(jaxs)
    def from_hlo(name, hlo, **of):
        devices = of["device_list"]
        executable = None
        if is_plain(of, devices):
            try:
                executable = compile(name, hlo, of["backend"], devices, of["global_out_avals"])
            except Exception:  # what is wrong comes out by JAX's way, through its handlers
                pass
        if executable is None:
            return jaxs(name, hlo, **of)
        device = devices[0]
        of["name"] = name
        place = on_device(device)
        result_place = on_device(device, memory_kind=device.default_memory().kind)
        layouts_of_arguments = [row_major(len(a.shape)) for a in of["global_in_avals"]]
        return Unloaded(
            xla_executable=executable, input_avals=of["global_in_avals"], output_avals=of["global_out_avals"],
            input_shardings=[place if type(s) is unspecified else s for s in of["in_shardings"]],
            output_shardings=[result_place if type(s) is unspecified else s for s in of["out_shardings"]],
            xla_in_layouts=layouts_of_arguments, dispatch_in_layouts=[None] * len(layouts_of_arguments),
            xla_out_layouts=[row_major(len(a.shape)) for a in of["global_out_avals"]],
            **{field: of[field] for field in as_given}).load()  # fmt: skip

    Unloaded.from_hlo = staticmethod(from_hlo)


def connect():
    """From now on programs for Tenon go directly. None: this JAX compiles in another way."""
    import jax
    import jaxlib
    from jax._src import compiler, profiler
    from jax._src.interpreters import pxla

    name = "backend_compile_and_load"
    jaxlibs = getattr(compiler, name, None)
    if jaxlibs is None or os.environ.get("TENON_DIRECT") == "0":
        return None
    if isinstance(getattr(jaxlibs, "__wrapped__", None), Compiler):
        return jaxlibs.__wrapped__
    ours = Compiler(jaxlibs, _KNOWN.get(jaxlib.__version__))
    setattr(compiler, name, profiler.annotate_function(ours, name=name))
    if jax.__version__ in _SHORTENED:
        _shorten(pxla, ours)
    return ours
