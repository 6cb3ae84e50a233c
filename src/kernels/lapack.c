/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/lapack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *source = "nowhere";
static void *libraries[2]; /* LAPACK, BLAS */

/* --- scipy: cython_lapack and cython_blas keep a capsule for each routine --- */

typedef struct _object python_object;
static struct {
    int (*ensure)(void);
    void (*release)(int);
    int (*is_initialized)(void);
    python_object *(*import)(const char *);
    python_object *(*attribute)(python_object *, const char *);
    python_object *(*item)(python_object *, const char *); /* borrowed */
    const char *(*capsule_name)(python_object *);
    void *(*capsule_pointer)(python_object *, const char *);
    void (*clear_error)(void);
} python;
static python_object
    *routines[2]; /* __pyx_capi__ of cython_lapack and cython_blas, kept for ever */

static bool find_python(void)
{
#define FIND(field, name) (*(void **)&python.field = dlsym(RTLD_DEFAULT, name))
    return FIND(ensure, "PyGILState_Ensure") && FIND(release, "PyGILState_Release") &&
           FIND(is_initialized, "Py_IsInitialized") && FIND(import, "PyImport_ImportModule") &&
           FIND(attribute, "PyObject_GetAttrString") && FIND(item, "PyDict_GetItemString") &&
           FIND(capsule_name, "PyCapsule_GetName") &&
           FIND(capsule_pointer, "PyCapsule_GetPointer") && FIND(clear_error, "PyErr_Clear") &&
           python.is_initialized();
#undef FIND
}

static bool find_scipy(void)
{
    if (!find_python()) return false;
    int state = python.ensure();
    static const char *const modules[] = {"scipy.linalg.cython_lapack", "scipy.linalg.cython_blas"};
    for (int i = 0; i < 2; i++) {
        python_object *module = python.import(modules[i]);
        routines[i] = module ? python.attribute(module, "__pyx_capi__") : NULL;
        if (!routines[i]) python.clear_error();
    }
    python.release(state);
    return routines[0] && routines[1];
}

static tn_lapack_fn find_in_scipy(const char *name)
{
    void *pointer = NULL;
    int state = python.ensure();
    for (int i = 0; i < 2 && !pointer; i++) {
        python_object *capsule = python.item(routines[i], name);
        if (capsule) pointer = python.capsule_pointer(capsule, python.capsule_name(capsule));
        if (!pointer) python.clear_error();
    }
    python.release(state);
    return (tn_lapack_fn)pointer;
}

/* --- shared libraries --- */

static bool open_library(int i, const char *name)
{
    libraries[i] = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return libraries[i] != NULL;
}

static void find_source(void)
{
    const char *own = getenv("TN_LAPACK");
    if (own && *own) {
        if (open_library(0, own)) source = own;
        return; /* who names a library wants that one or none */
    }
    if (find_scipy()) source = "scipy";
    else if (open_library(0, "libopenblas.so.0")) source = "libopenblas.so.0";
    else if (open_library(0, "liblapack.so.3") && open_library(1, "libblas.so.3"))
        source = "liblapack.so.3";
}

tn_lapack_fn tn_lapack_find(const char *name)
{
    pthread_once(&once, find_source);
    if (routines[0] && routines[1]) return find_in_scipy(name);
    char symbol[32];
    snprintf(symbol, sizeof symbol, "%s_", name);
    for (int i = 0; i < 2; i++) {
        void *p = libraries[i] ? dlsym(libraries[i], symbol) : NULL;
        if (p) return (tn_lapack_fn)p;
    }
    return NULL;
}

const char *tn_lapack_source(void)
{
    pthread_once(&once, find_source);
    return source;
}
