# SPDX-License-Identifier: Apache-2.0
"""Handlers of custom calls that users write in C++ against jaxlib's headers, and in C against the untyped interface."""

import ctypes
import shutil
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import DEV, PLATFORM, still_works

CXX = shutil.which("g++") or shutil.which("clang++")
pytestmark = pytest.mark.skipif(CXX is None, reason="there is no C++ compiler")

SOURCE = r"""
#include <complex>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include "xla/ffi/api/c_api.h"
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;

// Buffers, and scalar attributes of several types.
static ffi::Error Axpy(float a, int32_t shift, bool negate, ffi::Buffer<ffi::F32> x, ffi::Buffer<ffi::F32> y,
                       ffi::ResultBuffer<ffi::F32> out) {
  if (x.element_count() != y.element_count())
    return ffi::Error::InvalidArgument("axpy: sizes differ, tell-tale-17");
  for (size_t i = 0; i < x.element_count(); i++) {
    float v = a * x.typed_data()[i] + y.typed_data()[i] + shift;
    out->typed_data()[i] = negate ? -v : v;
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(axpy, Axpy, ffi::Ffi::Bind().Attr<float>("a").Attr<int32_t>("shift")
    .Attr<bool>("negate").Arg<ffi::Buffer<ffi::F32>>().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

// Where a buffer is.
static ffi::Error Place(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> out) {
  out->typed_data()[0] = (float)((uintptr_t)x.typed_data() % 64);
  out->typed_data()[1] = x.typed_data()[x.element_count() - 1];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(place, Place, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

// Strings, arrays, dictionaries and enumerations.
enum class Mode : int32_t { kSum = 1, kProduct = 2 };
XLA_FFI_REGISTER_ENUM_ATTR_DECODING(Mode);
static ffi::Error Config(std::string_view name, ffi::Span<const int64_t> list, ffi::Span<const double> weights,
                         ffi::Dictionary options, Mode mode, ffi::ResultBuffer<ffi::F64> out) {
  auto scale = options.get<double>("scale");
  auto deep = options.get<int64_t>("deep");
  if (scale.has_error()) return scale.error();
  if (deep.has_error()) return deep.error();
  out->typed_data()[0] = (double)name.size();
  out->typed_data()[1] = (double)std::accumulate(list.begin(), list.end(), (int64_t)0);
  out->typed_data()[2] = std::accumulate(weights.begin(), weights.end(), 0.0);
  out->typed_data()[3] = *scale;
  out->typed_data()[4] = (double)*deep;
  out->typed_data()[5] = (double)(int)mode;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(config, Config, ffi::Ffi::Bind().Attr<std::string_view>("name")
    .Attr<ffi::Span<const int64_t>>("list").Attr<ffi::Span<const double>>("weights")
    .Attr<ffi::Dictionary>("options").Attr<Mode>("mode").Ret<ffi::Buffer<ffi::F64>>());

// State that is made once, when the program is compiled.
static int instantiated = 0, deleted = 0;
struct State { int64_t base; ~State() { deleted++; } };
static ffi::TypeId state_id = {};
static ffi::TypeInfo state_info = ffi::MakeTypeInfo<State>();
template <> ffi::TypeId ffi::TypeRegistry::GetTypeId<State>() ;
XLA_FFI_DEFINE_HANDLER_SYMBOL(plain_sum, [](ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> out) {
    std::memcpy(out->untyped_data(), x.untyped_data(), x.size_bytes()); return ffi::Error::Success(); },
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// Tasks of the thread pool, and a future.
static ffi::Future Later(ffi::ThreadPool pool, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> out) {
  size_t n = x.element_count();
  ffi::CountDownPromise promise((int64_t)n);
  ffi::Future future(promise);
  for (size_t i = 0; i < n; i++)
    pool.Schedule([=]() mutable { out->typed_data()[i] = x.typed_data()[i] * (float)i; promise.CountDown(); });
  return future;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(later, Later, ffi::Ffi::Bind().Ctx<ffi::ThreadPool>()
    .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
static ffi::Future FailLater(ffi::ThreadPool pool) {
  ffi::Promise promise; ffi::Future future(promise);
  pool.Schedule([=]() mutable { promise.SetError(ffi::Error::Internal("tell-tale-18")); });
  return future;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(fail_later, FailLater, ffi::Ffi::Bind().Ctx<ffi::ThreadPool>());

// Scratch memory, and the layout that the call asks for.
static ffi::Error FirstWords(ffi::ScratchAllocator scratch, ffi::AnyBuffer x, ffi::ResultBuffer<ffi::S32> out) {
  auto memory = scratch.Allocate(4096);
  if (!memory.has_value()) return ffi::Error::Internal("no scratch");
  std::memset(*memory, 1, 4096);
  std::memcpy(out->untyped_data(), x.untyped_data(), out->size_bytes());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(first_words, FirstWords, ffi::Ffi::Bind().Ctx<ffi::ScratchAllocator>()
    .Arg<ffi::AnyBuffer>().Ret<ffi::Buffer<ffi::S32>>());

// In place: the operand has the address of the result.
static ffi::Error InPlace(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> out) {
  if (x.untyped_data() != out->untyped_data()) return ffi::Error::Internal("not in place");
  out->typed_data()[0] += 5;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(in_place, InPlace, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

// The older interface.
extern "C" void untyped_add(void *out, const void **in) {
  for (int i = 0; i < 4; i++) ((float *)out)[i] = ((const float *)in[0])[i] + ((const float *)in[1])[i];
}
extern "C" void untyped_opaque(void *out, const void **in, const char *opaque, size_t n, void *status) {
  *(int32_t *)out = *(const int32_t *)in[0] + (int32_t)n + opaque[0];
}
"""
SOURCE = SOURCE.replace("""static int instantiated = 0, deleted = 0;
struct State { int64_t base; ~State() { deleted++; } };
static ffi::TypeId state_id = {};
static ffi::TypeInfo state_info = ffi::MakeTypeInfo<State>();
template <> ffi::TypeId ffi::TypeRegistry::GetTypeId<State>() ;
""", r"""static int instantiated = 0, deleted = 0;
struct State { int64_t base; explicit State(int64_t b) : base(b) { instantiated++; } ~State() { deleted++; }
               static ffi::TypeId id; static ffi::TypeInfo info; };
ffi::TypeId State::id = {};
ffi::TypeInfo State::info = ffi::MakeTypeInfo<State>();
XLA_FFI_DEFINE_HANDLER_SYMBOL(state_make, [](int64_t base) -> ffi::ErrorOr<std::unique_ptr<State>> {
    return std::make_unique<State>(base); }, ffi::Ffi::BindInstantiate().Attr<int64_t>("base"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(state_use, [](State *s, int64_t base, ffi::ResultBuffer<ffi::S32> out) {
    out->typed_data()[0] = (int32_t)(s->base * 10); return ffi::Error::Success(); },
    ffi::Ffi::Bind().Ctx<ffi::State<State>>().Attr<int64_t>("base").Ret<ffi::Buffer<ffi::S32>>());
extern "C" void *state_type_id() { return &State::id; }
extern "C" void *state_type_info() { return &State::info; }
extern "C" int state_count(int which) { return which ? deleted : instantiated; }
""")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ffi")
    (folder / "handlers.cc").write_text(SOURCE)
    subprocess.run([CXX, "-std=c++17", "-O0", "-shared", "-fPIC", "-I", jax.ffi.include_dir(), "-o", folder / "h.so",
                    folder / "handlers.cc"], check=True, timeout=300)
    lib = ctypes.CDLL(str(folder / "h.so"))
    for name in ("axpy", "place", "config", "later", "fail_later", "first_words", "in_place"):
        jax.ffi.register_ffi_target(f"tn_{name}", jax.ffi.pycapsule(getattr(lib, name)), platform="cpu")
    for name in ("untyped_add", "untyped_opaque"):
        jax.ffi.register_ffi_target(f"tn_{name}", jax.ffi.pycapsule(getattr(lib, name)), platform="cpu", api_version=0)
    return lib


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, np.float32)


def test_buffers_and_scalars(library):
    x, y = np.arange(8, dtype=np.float32).reshape(2, 4), np.ones((2, 4), np.float32)
    f = jax.jit(lambda x, y: jax.ffi.ffi_call("tn_axpy", f32(2, 4))(x, y, a=np.float32(2), shift=np.int32(3), negate=True))
    np.testing.assert_array_equal(np.asarray(f(x, y)), -(2 * x + y + 3))
    g = jax.vmap(lambda x, y: jax.ffi.ffi_call("tn_axpy", f32(4), vmap_method="broadcast_all")(
        x, y, a=np.float32(2), shift=np.int32(3), negate=False))
    np.testing.assert_array_equal(np.asarray(g(x, y)), 2 * x + y + 3)


def test_errors_of_handlers(library):
    call = lambda x, y: jax.ffi.ffi_call("tn_axpy", f32(4))(x, y, a=np.float32(2), shift=np.int32(3), negate=True)
    with pytest.raises(jax.errors.JaxRuntimeError, match="INVALID_ARGUMENT.*tell-tale-17"):
        jax.jit(call)(np.ones(4, np.float32), np.ones(3, np.float32)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="tn_axpy"):  # an attribute is missing
        jax.jit(lambda x: jax.ffi.ffi_call("tn_axpy", f32(4))(x, x, a=np.float32(2)))(np.ones(4, np.float32)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="NOT_FOUND.*tn_nobody"):
        jax.jit(lambda x: jax.ffi.ffi_call("tn_nobody", f32(4))(x))(np.ones(4, np.float32))
    still_works()


def test_attributes_of_every_kind(library, x64):
    call = jax.ffi.ffi_call("tn_config", jax.ShapeDtypeStruct((6,), np.float64))
    f = jax.jit(lambda: call(name="seven77", list=np.array([1, 2, 39], np.int64), weights=np.array([0.5, 0.25]),
                             options={"scale": np.float64(1.5), "deep": np.int64(-4)}, mode=np.int32(2)))
    np.testing.assert_array_equal(np.asarray(f()), [7, 42, 0.75, 1.5, -4, 2])


def test_thread_pool_and_futures(library):
    x = np.arange(50, dtype=np.float32)
    f = jax.jit(lambda x: jax.ffi.ffi_call("tn_later", f32(50))(x) + 1)
    np.testing.assert_array_equal(np.asarray(f(x)), x * x + 1)
    with pytest.raises(jax.errors.JaxRuntimeError, match="tell-tale-18"):
        jax.jit(lambda x: (jax.ffi.ffi_call("tn_fail_later", (), has_side_effect=True)(), x)[1])(x).block_until_ready()
        jax.effects_barrier()


def test_layouts_of_operands(library):
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    call = lambda layout: jax.jit(lambda v: jax.ffi.ffi_call(
        "tn_first_words", jax.ShapeDtypeStruct((6,), np.int32), input_layouts=[layout])(v))
    np.testing.assert_array_equal(np.asarray(call((0, 1))(x)), x.ravel())
    np.testing.assert_array_equal(np.asarray(call((1, 0))(x)), x.T.ravel())


def test_results_in_place_of_operands(library):
    f = jax.jit(lambda v: jax.ffi.ffi_call("tn_in_place", f32(3), input_output_aliases={0: 0})(v + 0))
    np.testing.assert_array_equal(np.asarray(f(np.ones(3, np.float32))), [6, 1, 1])
    x = np.ones(3, np.float32)
    g = jax.jit(lambda v: (jax.ffi.ffi_call("tn_in_place", f32(3), input_output_aliases={0: 0})(v), v * 2))
    y, z = g(x)
    np.testing.assert_array_equal(np.asarray(y), [6, 1, 1])
    np.testing.assert_array_equal(np.asarray(z), [2, 2, 2])
    assert x[0] == 1


def test_state_is_made_once(library):
    library.state_type_id.restype = library.state_type_info.restype = ctypes.c_void_p
    jax.ffi.register_ffi_type("tn_state", {"type_id": jax.ffi.pycapsule(library.state_type_id()),
                                           "type_info": jax.ffi.pycapsule(library.state_type_info())})
    jax.ffi.register_ffi_target("tn_state_use", {"instantiate": jax.ffi.pycapsule(library.state_make),
                                                 "execute": jax.ffi.pycapsule(library.state_use)}, platform="cpu")
    made = library.state_count(0)
    f = jax.jit(lambda: jax.ffi.ffi_call("tn_state_use", jax.ShapeDtypeStruct((), np.int32))(base=np.int64(7)))
    assert [int(f()) for _ in range(5)] == [70] * 5
    assert library.state_count(0) == made + 1 and library.state_count(1) <= made
    jax.clear_caches()
    del f
    import gc
    gc.collect()
    assert library.state_count(1) >= 1


def test_buffers_are_aligned_where_arrays_are_not(library):
    n = 1 << 20
    block = np.ones(n + 32, np.float32)
    at = (-block.ctypes.data // 4) % 16 + 4
    x = jax.device_put(block[at:at + n], DEV)
    if PLATFORM == "tenon":  # whose device reads the host's memory where it is
        assert x.unsafe_buffer_pointer() == block[at:].ctypes.data
    f = jax.jit(lambda a: jax.ffi.ffi_call("tn_place", f32(2))(a))
    np.testing.assert_array_equal(np.asarray(f(x)), [0, 1])


def test_untyped_functions(library):
    x = np.arange(4, dtype=np.float32)
    f = jax.jit(lambda a, b: jax.ffi.ffi_call("tn_untyped_add", f32(4), custom_call_api_version=1,
                                              legacy_backend_config="")(a, b))
    np.testing.assert_array_equal(np.asarray(f(x, x)), 2 * x)
    g = jax.jit(lambda a: jax.ffi.ffi_call("tn_untyped_opaque", jax.ShapeDtypeStruct((), np.int32),
                                           custom_call_api_version=3, legacy_backend_config="AB")(a))
    assert int(g(np.int32(100))) == 100 + 2 + 65
