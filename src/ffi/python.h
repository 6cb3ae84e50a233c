/* SPDX-License-Identifier: Apache-2.0 */
/* python.h - JAX's Python callbacks, as handlers of custom calls:
 *
 *   xla_ffi_python_cpu_callback, xla_ffi_partitioned_python_cpu_callback
 *       the callback gets NumPy arrays (None for tokens), which are its own, and gives a tuple
 *   xla_buffer_python_cpu_callback
 *       the callback gets the buffers themselves, as objects of the Python package (tenon.buffers)
 *
 * The callables come with the run, as user data. Python's functions are looked up in the process,
 * so nothing is linked; handlers take the interpreter's lock, and no other lock of ours is held by
 * then. */
#ifndef TN_FFI_PYTHON_H
#define TN_FFI_PYTHON_H

void tn_python_register(void);

#endif
