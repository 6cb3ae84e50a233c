/* SPDX-License-Identifier: Apache-2.0 */
#include "ffi/python.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ffi/api.h"

typedef struct _object PyObject;

/* ---- The interpreter's functions, X(result, name, arguments) ---- */

#define PYTHON(X)                                                                                  \
    X(int, Py_IsInitialized, (void))                                                               \
    X(int, PyGILState_Ensure, (void))                                                              \
    X(void, PyGILState_Release, (int))                                                             \
    X(void, Py_IncRef, (PyObject *))                                                               \
    X(void, Py_DecRef, (PyObject *))                                                               \
    X(PyObject *, PyImport_ImportModule, (const char *))                                           \
    X(PyObject *, PyObject_GetAttrString, (PyObject *, const char *))                              \
    X(int, PyObject_SetAttrString, (PyObject *, const char *, PyObject *))                         \
    X(PyObject *, PyObject_CallFunctionObjArgs, (PyObject *, ...))                                 \
    X(PyObject *, PyObject_CallObject, (PyObject *, PyObject *))                                   \
    X(PyObject *, PyTuple_New, (ssize_t))                                                          \
    X(int, PyTuple_SetItem, (PyObject *, ssize_t, PyObject *))                                     \
    X(PyObject *, PyTuple_GetItem, (PyObject *, ssize_t))                                          \
    X(PyObject *, PyDict_GetItemString, (PyObject *, const char *))                                \
    X(PyObject *, PySequence_Tuple, (PyObject *))                                                  \
    X(ssize_t, PyTuple_Size, (PyObject *))                                                         \
    X(PyObject *, PyLong_FromLongLong, (long long))                                                \
    X(long long, PyLong_AsLongLong, (PyObject *))                                                  \
    X(void *, PyLong_AsVoidPtr, (PyObject *))                                                      \
    X(PyObject *, PyBytes_FromStringAndSize, (const char *, ssize_t))                              \
    X(PyObject *, PyMemoryView_FromMemory, (char *, ssize_t, int))                                 \
    X(PyObject *, PyUnicode_FromString, (const char *))                                            \
    X(const char *, PyUnicode_AsUTF8, (PyObject *))                                                \
    X(PyObject *, PyUnicode_Join, (PyObject *, PyObject *))                                        \
    X(PyObject *, PyErr_Occurred, (void))                                                          \
    X(void, PyErr_Clear, (void))                                                                   \
    X(void, PyErr_Fetch, (PyObject **, PyObject **, PyObject **))                                  \
    X(void, PyErr_NormalizeException, (PyObject **, PyObject **, PyObject **))

static struct {
#define FIELD(result, name, args) result(*name) args;
    PYTHON(FIELD)
#undef FIELD
    PyObject **none;
} py;

static bool found;

static void find_python(void)
{
    found = true;
#define FIND(result, name, args)                                                                   \
    *(void **)&py.name = dlsym(RTLD_DEFAULT, #name);                                               \
    found = found && py.name;
    PYTHON(FIND)
#undef FIND
    PyObject *none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
    static PyObject *there;
    there = none;
    py.none = &there;
    found = found && none;
}

static bool have_python(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_python);
    return found && py.Py_IsInitialized();
}

static PyObject *none(void)
{
    py.Py_IncRef(*py.none);
    return *py.none;
}

static void drop(PyObject *o)
{
    if (o) py.Py_DecRef(o);
}

/* The attribute of a module; NULL with Python's error set. */
static PyObject *import(const char *module, const char *name)
{
    PyObject *m = py.PyImport_ImportModule(module);
    PyObject *o = m ? py.PyObject_GetAttrString(m, name) : NULL;
    drop(m);
    return o;
}

/* ---- Errors: Python's becomes ours, with its traceback ---- */

static PyObject *format(PyObject *type, PyObject *value, PyObject *trace)
{
    PyObject *function = import("traceback", "format_exception");
    PyObject *lines =
        function ? py.PyObject_CallFunctionObjArgs(function, type, value ? value : *py.none,
                                                   trace ? trace : *py.none, (PyObject *)NULL)
                 : NULL;
    PyObject *nothing = lines ? py.PyUnicode_FromString("") : NULL;
    PyObject *text = nothing ? py.PyUnicode_Join(nothing, lines) : NULL;
    drop(function);
    drop(lines);
    drop(nothing);
    return text;
}

static tn_status *python_error(const char *doing)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    py.PyErr_Fetch(&type, &value, &trace);
    py.PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = type ? format(type, value, trace) : NULL;
    const char *chars = text ? py.PyUnicode_AsUTF8(text) : NULL;
    if (!chars) py.PyErr_Clear();
    tn_status *s =
        TN_ERROR(INTERNAL, "%s: %s", doing, chars ? chars : "an exception that has no text");
    drop(text);
    drop(type);
    drop(value);
    drop(trace);
    return s;
}

/* ---- NumPy arrays ---- */

/* Of arrays by XLA's number of their type: modules and names. Under the interpreter's lock. */
static PyObject *dtypes[XLA_FFI_DataType_F8E8M0FNU + 1];

static PyObject *find_dtype(XLA_FFI_DataType type)
{
    static const struct {
        const char *module, *name;
    } names[] = {
        [XLA_FFI_DataType_PRED] = {"numpy", "bool_"},
        [XLA_FFI_DataType_S8] = {"numpy", "int8"},
        [XLA_FFI_DataType_S16] = {"numpy", "int16"},
        [XLA_FFI_DataType_S32] = {"numpy", "int32"},
        [XLA_FFI_DataType_S64] = {"numpy", "int64"},
        [XLA_FFI_DataType_U8] = {"numpy", "uint8"},
        [XLA_FFI_DataType_U16] = {"numpy", "uint16"},
        [XLA_FFI_DataType_U32] = {"numpy", "uint32"},
        [XLA_FFI_DataType_U64] = {"numpy", "uint64"},
        [XLA_FFI_DataType_F16] = {"numpy", "float16"},
        [XLA_FFI_DataType_F32] = {"numpy", "float32"},
        [XLA_FFI_DataType_F64] = {"numpy", "float64"},
        [XLA_FFI_DataType_C64] = {"numpy", "complex64"},
        [XLA_FFI_DataType_C128] = {"numpy", "complex128"},
        [XLA_FFI_DataType_BF16] = {"ml_dtypes", "bfloat16"},
        [XLA_FFI_DataType_F8E5M2] = {"ml_dtypes", "float8_e5m2"},
        [XLA_FFI_DataType_F8E4M3FN] = {"ml_dtypes", "float8_e4m3fn"},
        [XLA_FFI_DataType_F8E4M3B11FNUZ] = {"ml_dtypes", "float8_e4m3b11fnuz"},
        [XLA_FFI_DataType_F8E5M2FNUZ] = {"ml_dtypes", "float8_e5m2fnuz"},
        [XLA_FFI_DataType_F8E4M3FNUZ] = {"ml_dtypes", "float8_e4m3fnuz"},
        [XLA_FFI_DataType_F8E4M3] = {"ml_dtypes", "float8_e4m3"},
        [XLA_FFI_DataType_F8E3M4] = {"ml_dtypes", "float8_e3m4"},
        [XLA_FFI_DataType_F8E8M0FNU] = {"ml_dtypes", "float8_e8m0fnu"},
        [XLA_FFI_DataType_F4E2M1FN] = {"ml_dtypes", "float4_e2m1fn"},
        [XLA_FFI_DataType_S2] = {"ml_dtypes", "int2"},
        [XLA_FFI_DataType_U2] = {"ml_dtypes", "uint2"},
        [XLA_FFI_DataType_S4] = {"ml_dtypes", "int4"},
        [XLA_FFI_DataType_U4] = {"ml_dtypes", "uint4"},
    };
    if (dtypes[type]) return dtypes[type];
    PyObject *make = import("numpy", "dtype");
    PyObject *scalar =
        make && names[type].name ? import(names[type].module, names[type].name) : NULL;
    if (scalar) dtypes[type] = py.PyObject_CallFunctionObjArgs(make, scalar, (PyObject *)NULL);
    drop(make);
    drop(scalar);
    return dtypes[type];
}

static size_t unit_of(XLA_FFI_DataType type)
{
    switch (type) {
    case XLA_FFI_DataType_S16:
    case XLA_FFI_DataType_U16:
    case XLA_FFI_DataType_F16:
    case XLA_FFI_DataType_BF16: return 2;
    case XLA_FFI_DataType_S32:
    case XLA_FFI_DataType_U32:
    case XLA_FFI_DataType_F32: return 4;
    case XLA_FFI_DataType_S64:
    case XLA_FFI_DataType_U64:
    case XLA_FFI_DataType_F64:
    case XLA_FFI_DataType_C64: return 8;
    case XLA_FFI_DataType_C128: return 16;
    default: return 1;
    }
}

static size_t bytes_of(const XLA_FFI_Buffer *b)
{
    size_t n = unit_of(b->dtype);
    for (int64_t i = 0; i < b->rank; i++) n *= (size_t)b->dims[i];
    return n;
}

static PyObject *shape_of(const XLA_FFI_Buffer *b)
{
    PyObject *shape = py.PyTuple_New((ssize_t)b->rank);
    for (int64_t i = 0; shape && i < b->rank; i++)
        py.PyTuple_SetItem(shape, (ssize_t)i, py.PyLong_FromLongLong(b->dims[i]));
    return shape;
}

/* An array over `memory` (taken; NULL: Python's error is set). */
static PyObject *array_over(const XLA_FFI_Buffer *b, PyObject *memory)
{
    static PyObject *ndarray;
    if (!ndarray) ndarray = import("numpy", "ndarray");
    PyObject *dtype = find_dtype(b->dtype), *shape = shape_of(b), *array = NULL;
    if (ndarray && dtype && shape && memory)
        array = py.PyObject_CallFunctionObjArgs(ndarray, shape, dtype, memory, (PyObject *)NULL);
    drop(shape);
    drop(memory);
    return array;
}

static const void *data_of(PyObject *array)
{
    PyObject *interface = py.PyObject_GetAttrString(array, "__array_interface__");
    PyObject *data = interface ? py.PyDict_GetItemString(interface, "data") : NULL;
    PyObject *address = data ? py.PyTuple_GetItem(data, 0) : NULL;
    const void *p = address ? py.PyLong_AsVoidPtr(address) : NULL;
    drop(interface);
    return p;
}

/* An array in memory of NumPy's that starts on 64 bytes, so that what takes the array over (as
 * jax.device_put does) need not copy it again. */
static PyObject *aligned_copy_of(const XLA_FFI_Buffer *b)
{
    static PyObject *ndarray;
    if (!ndarray) ndarray = import("numpy", "ndarray");
    size_t bytes = bytes_of(b);
    PyObject *dtype = find_dtype(b->dtype), *byte = find_dtype(XLA_FFI_DataType_U8);
    PyObject *room = py.PyLong_FromLongLong((long long)bytes + 64);
    PyObject *memory = ndarray && byte && room
                           ? py.PyObject_CallFunctionObjArgs(ndarray, room, byte, (PyObject *)NULL)
                           : NULL;
    uintptr_t start = memory ? (uintptr_t)data_of(memory) : 0;
    PyObject *offset = start ? py.PyLong_FromLongLong((long long)(-start & 63)) : NULL;
    PyObject *shape = shape_of(b), *array = NULL;
    if (offset && shape && dtype) {
        memcpy((char *)start + (-start & 63), b->data, bytes);
        array = py.PyObject_CallFunctionObjArgs(ndarray, shape, dtype, memory, offset,
                                                (PyObject *)NULL);
    }
    PyObject *flags = array ? py.PyObject_GetAttrString(array, "flags") : NULL;
    PyObject *no = py.PyLong_FromLongLong(0);
    if (flags && no) py.PyObject_SetAttrString(flags, "writeable", no);
    drop(no);
    drop(flags);
    drop(room);
    drop(memory);
    drop(offset);
    drop(shape);
    return array;
}

/* Bytes are immutable, and so is the array: it may outlive the call. */
static PyObject *copy_of(const XLA_FFI_Buffer *b)
{
    enum { LARGE = 1 << 16 };
    size_t bytes = bytes_of(b);
    if (bytes >= LARGE) return aligned_copy_of(b);
    return array_over(b, py.PyBytes_FromStringAndSize(bytes ? b->data : "", (ssize_t)bytes));
}

static PyObject *view_of(const XLA_FFI_Buffer *b)
{
    enum { WRITABLE = 0x200 };
    static char empty;
    size_t bytes = bytes_of(b);
    return array_over(
        b, py.PyMemoryView_FromMemory(bytes ? b->data : &empty, (ssize_t)bytes, WRITABLE));
}

static tn_status *copy_result(PyObject *item, int64_t i, const XLA_FFI_Buffer *b)
{
    static PyObject *contiguous;
    if (!contiguous) contiguous = import("numpy", "ascontiguousarray");
    PyObject *dtype = find_dtype(b->dtype);
    PyObject *array = contiguous && dtype ? py.PyObject_CallFunctionObjArgs(contiguous, item, dtype,
                                                                            (PyObject *)NULL)
                                          : NULL;
    PyObject *size = array ? py.PyObject_GetAttrString(array, "nbytes") : NULL;
    tn_status *s = NULL;
    if (!size) {
        s = python_error("CpuCallback error in the callback's result");
    } else if (py.PyLong_AsLongLong(size) != (long long)bytes_of(b)) {
        s = TN_ERROR(INTERNAL,
                     "CpuCallback error: result %lld of the callback has %lld bytes, expected %zu",
                     (long long)i, py.PyLong_AsLongLong(size), bytes_of(b));
    } else if (bytes_of(b)) {
        const void *data = data_of(array);
        if (data) memcpy(b->data, data, bytes_of(b));
        else s = TN_ERROR(INTERNAL, "CpuCallback error: result %lld has no address", (long long)i);
    }
    if (py.PyErr_Occurred()) py.PyErr_Clear();
    drop(size);
    drop(array);
    return s;
}

/* ---- Handlers ---- */

/* How jaxlib hands the callables of a program to its runs, under this type of user data. */
#define CALLBACKS_TYPE INT64_C(7357244197867843242)
typedef struct {
    PyObject **callbacks;
    uint32_t n;
} callbacks;

static tn_status *find_callback(const XLA_FFI_CallFrame *f, PyObject **out)
{
    const callbacks *all = tn_ffi_context_find(f->ctx->user, CALLBACKS_TYPE);
    if (!all)
        return TN_ERROR(FAILED_PRECONDITION,
                        "the run comes without the program's Python callbacks");
    if (!have_python()) return TN_ERROR(FAILED_PRECONDITION, "there is no Python in this process");
    for (int64_t i = 0; i < f->attrs.size; i++) {
        const XLA_FFI_ByteSpan *name = f->attrs.names[i];
        if (name->len != 5 || memcmp(name->ptr, "index", 5) ||
            f->attrs.types[i] != XLA_FFI_AttrType_SCALAR)
            continue;
        uint64_t index;
        memcpy(&index, ((const XLA_FFI_Scalar *)f->attrs.attrs[i])->value, sizeof index);
        if (index >= all->n)
            return TN_ERROR(INVALID_ARGUMENT, "callback %llu of %u", (unsigned long long)index,
                            all->n);
        *out = all->callbacks[index];
        return NULL;
    }
    return TN_ERROR(INVALID_ARGUMENT,
                    "the call names no callback: it lacks the attribute \"index\"");
}

static const XLA_FFI_Buffer *arg(const XLA_FFI_CallFrame *f, int64_t i)
{
    return f->args.args[i];
}

static const XLA_FFI_Buffer *ret(const XLA_FFI_CallFrame *f, int64_t i)
{
    return f->rets.rets[i];
}

/* The caller holds the interpreter's lock, here and below. */
static tn_status *take_results(const XLA_FFI_CallFrame *f, PyObject *given)
{
    PyObject *tuple = py.PySequence_Tuple(given);
    if (!tuple) return python_error("CpuCallback expected callback to return a tuple");
    tn_status *s = NULL;
    if (py.PyTuple_Size(tuple) != f->rets.size)
        s = TN_ERROR(INTERNAL, "CpuCallback: the callback gave %zd results, expected %lld",
                     py.PyTuple_Size(tuple), (long long)f->rets.size);
    for (int64_t i = 0; i < f->rets.size && !s; i++)
        if (ret(f, i)->dtype != XLA_FFI_DataType_TOKEN)
            s = copy_result(py.PyTuple_GetItem(tuple, (ssize_t)i), i, ret(f, i));
    drop(tuple);
    return s;
}

static tn_status *call_with_arrays(const XLA_FFI_CallFrame *f, PyObject *callback)
{
    PyObject *args = py.PyTuple_New((ssize_t)f->args.size);
    if (!args) return python_error("CpuCallback error making arguments");
    for (int64_t i = 0; i < f->args.size; i++) {
        PyObject *x = arg(f, i)->dtype == XLA_FFI_DataType_TOKEN ? none() : copy_of(arg(f, i));
        if (!x) {
            drop(args);
            return python_error("CpuCallback error making arguments");
        }
        py.PyTuple_SetItem(args, (ssize_t)i, x);
    }
    PyObject *given = py.PyObject_CallObject(callback, args);
    drop(args);
    if (!given) return python_error("CpuCallback error calling callback");
    tn_status *s = take_results(f, given);
    drop(given);
    return s;
}

static tn_status *call_with_buffers(const XLA_FFI_CallFrame *f, PyObject *callback)
{
    static const char doing[] = "error calling buffer callback";
    PyObject *call = import("tenon.buffers", "call");
    if (!call) return python_error(doing);
    int64_t n = f->args.size, m = f->rets.size;
    PyObject *args = py.PyTuple_New((ssize_t)(n + m + 2));
    PyObject *count = py.PyLong_FromLongLong(n);
    bool ok = args && count;
    py.Py_IncRef(callback);
    if (ok) {
        py.PyTuple_SetItem(args, 0, callback);
        py.PyTuple_SetItem(args, 1, count);
    }
    for (int64_t i = 0; i < n + m && ok; i++) {
        PyObject *x = view_of(i < n ? arg(f, i) : ret(f, i - n));
        ok = x != NULL;
        if (x) py.PyTuple_SetItem(args, (ssize_t)(i + 2), x);
    }
    PyObject *given = ok ? py.PyObject_CallObject(call, args) : NULL;
    tn_status *s = given ? NULL : python_error(doing);
    drop(given);
    drop(args);
    drop(call);
    return s;
}

static XLA_FFI_Error *error_of(tn_status *s)
{
    if (!s) return NULL;
    XLA_FFI_Error_Create_Args args = {.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE,
                                      .message = tn_status_message(s),
                                      .errc = (XLA_FFI_Error_Code)tn_status_code(s)};
    XLA_FFI_Error *e = tn_ffi_api.XLA_FFI_Error_Create(&args);
    tn_status_free(s);
    return e;
}

typedef tn_status *caller(const XLA_FFI_CallFrame *f, PyObject *callback);

static XLA_FFI_Error *handle(XLA_FFI_CallFrame *f, caller *how)
{
    if (f->extension_start && f->extension_start->type == XLA_FFI_Extension_Metadata) {
        XLA_FFI_Metadata *m = ((XLA_FFI_Metadata_Extension *)f->extension_start)->metadata;
        m->api_version = tn_ffi_api.api_version;
        m->traits = 0;
        return NULL;
    }
    PyObject *callback;
    tn_status *s = find_callback(f, &callback);
    if (s) return error_of(s);
    int state = py.PyGILState_Ensure();
    s = how(f, callback);
    py.PyGILState_Release(state);
    return error_of(s);
}

static XLA_FFI_Error *array_callback(XLA_FFI_CallFrame *f)
{
    return handle(f, call_with_arrays);
}

static XLA_FFI_Error *buffer_callback(XLA_FFI_CallFrame *f)
{
    return handle(f, call_with_buffers);
}

void tn_python_register(void)
{
    static const struct {
        const char *target;
        XLA_FFI_Handler *handler;
    } rows[] = {{"xla_ffi_python_cpu_callback", array_callback},
                {"xla_ffi_partitioned_python_cpu_callback", array_callback},
                {"xla_buffer_python_cpu_callback", buffer_callback}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const XLA_FFI_Handler_Bundle stages = {.execute = rows[i].handler};
        tn_status *s =
            tn_ffi_register(rows[i].target, strlen(rows[i].target), "cpu", 3, &stages, true);
        if (s) tn_log(TN_LOG_ERROR, "ffi", "%s: %s", rows[i].target, tn_status_message(s));
        tn_status_free(s);
    }
}
