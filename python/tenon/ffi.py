# SPDX-License-Identifier: Apache-2.0
"""Brings handlers of custom calls from jax.ffi.register_ffi_target to the library.

JAX hands every target to one function for each platform. Ours stands in for "cpu", the platform that wheels with
handlers name and that Tenon answers to, and passes what it gets to jaxlib's own function too.
"""

import ctypes

_TYPED_EXTENSION, _CALL_EXTENSION = 5, 0x7E0  # PJRT_Extension_Type_FFI; TN_PJRT_CUSTOM_CALL_TYPE, of our own
_STAGES = ("instantiate", "prepare", "initialize", "execute")


class _Extension(ctypes.Structure):
    pass


_Extension._fields_ = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int),
                       ("next", ctypes.POINTER(_Extension)), ("functions", ctypes.c_void_p * 3)]


class _Api(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extensions", ctypes.POINTER(_Extension))]


class _CallArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("name_size", ctypes.c_size_t),
                ("api_version", ctypes.c_int)] + [(s, ctypes.c_void_p) for s in _STAGES]


class _TypeArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extensions", ctypes.c_void_p), ("name", ctypes.c_char_p),
                ("name_size", ctypes.c_size_t), ("id", ctypes.c_int64), ("info", ctypes.c_void_p)]


class _ErrorArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extensions", ctypes.c_void_p), ("error", ctypes.c_void_p),
                ("message", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def _pointer(capsule):
    """The address in a capsule of any name; None stays None."""
    if capsule is None:
        return None
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, name(capsule))


class Library:
    """The functions of one loaded library that register things."""

    def __init__(self, path):
        get = ctypes.CDLL(path).GetPjrtApi
        get.restype = ctypes.c_void_p
        self._api = get()
        self._functions = {}
        extension = _Api.from_address(self._api).extensions
        while extension:
            self._functions[extension.contents.type] = extension.contents.functions
            extension = extension.contents.next

    def _call(self, function, args):
        args.struct_size = ctypes.sizeof(args)
        error = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(function)(ctypes.byref(args))
        if error:
            raise RuntimeError(self._take(error))

    def _take(self, error):
        # PJRT_Error_Destroy and _Message are the first two functions of the table.
        destroy, message = ((ctypes.c_void_p * 2).from_address(self._api + 40))
        args = _ErrorArgs(ctypes.sizeof(_ErrorArgs), None, error)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(message)(ctypes.byref(args))
        text = ctypes.string_at(args.message, args.size).decode()
        end = _ErrorArgs(24, None, error)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(destroy)(ctypes.byref(end))
        return text

    def register_target(self, name, handler, platform="cpu", api_version=0, traits=None):
        """`handler` is a capsule, or a dictionary of them by stage; api_version 0: untyped, 1: typed."""
        name = name if isinstance(name, bytes) else name.encode()
        stages = handler if isinstance(handler, dict) else {"execute": handler}
        args = _CallArgs(0, name, len(name), api_version, *(_pointer(stages.get(s)) for s in _STAGES))
        self._call(self._functions[_CALL_EXTENSION][0], args)

    def register_type(self, name, registration):
        """`registration` is a capsule of the id, or a dictionary with it and one of an XLA_FFI_TypeInfo."""
        both = registration if isinstance(registration, dict) else {"type_id": registration}
        name = name if isinstance(name, bytes) else name.encode()
        number = ctypes.c_int64.from_address(_pointer(both["type_id"]))
        info = _pointer(both.get("type_info"))
        # Deleter, serialise, deserialise; the deleter is an XLA_FFI_TypeInfo's third word.
        plain = (ctypes.c_void_p * 3)(ctypes.c_void_p.from_address(info + 16).value if info else None)
        args = _TypeArgs(0, None, name, len(name), number.value, ctypes.addressof(plain))
        self._call(self._functions[_TYPED_EXTENSION][0], args)
        number.value = args.id


_libraries = {}  # by path
_targets, _types = [], []  # all that was registered for "cpu", for libraries that are loaded later


def _register_target(name, handler, platform="cpu", api_version=0, traits=None):
    _targets.append((name, handler, platform, api_version))
    for library in _libraries.values():
        library.register_target(name, handler, platform, api_version)


def _register_type(name, registration):
    _types.append((name, registration))
    for library in _libraries.values():
        library.register_type(name, registration)


def _stand_in(handlers, register, theirs, ours):
    """Puts `ours`, followed by `theirs`, in front of whatever JAX calls for "cpu"."""
    current = handlers.get("cpu") if handlers is not None else None
    if getattr(current, "of_tenon", False):
        return
    after = current or theirs

    def both(name, value, *rest):
        if after is not None:
            after(name, value, *rest)
        ours(name, value, *rest)

    both.of_tenon = True
    if current is not None:
        handlers["cpu"] = both
    else:
        register("cpu", both)


def connect(path, platform):
    """From now on targets and types for "cpu" and for `platform` reach the library at `path`, those that were
    registered before too."""
    from jaxlib import xla_client

    if path in _libraries:
        return
    library = Library(path)
    for target in _targets:
        library.register_target(*target)
    for kind in _types:
        library.register_type(*kind)
    _libraries[path] = library
    native = getattr(xla_client, "_xla", None)
    _stand_in(getattr(xla_client, "_custom_callback_handler", None), xla_client.register_custom_call_handler,
              getattr(native, "register_custom_call_target", None), _register_target)
    xla_client.register_custom_call_handler(platform, library.register_target)
    if hasattr(xla_client, "register_custom_type_handler"):
        _stand_in(getattr(xla_client, "_custom_type_id_handler", None), xla_client.register_custom_type_handler,
                  getattr(native, "register_custom_type", None), _register_type)
        xla_client.register_custom_type_handler(platform, library.register_type)
