// What the stable ABI of Python 3.12 has and the headers of Python 3.11 do not declare for it, as
// far as nanobind's backend uses it.
#pragma once
#include <Python.h>
#include <stddef.h>
#include <structmember.h>
#undef PY_VERSION_HEX
#define PY_VERSION_HEX 0x030C0000
#ifdef __cplusplus
extern "C" {
#endif
typedef PyObject* (*vectorcallfunc)(PyObject*, PyObject* const*, size_t, PyObject*);
PyAPI_FUNC(PyObject*) PyObject_Vectorcall(PyObject*, PyObject* const*, size_t, PyObject*);
PyAPI_FUNC(PyObject*) PyObject_VectorcallMethod(PyObject*, PyObject* const*, size_t, PyObject*);
PyAPI_FUNC(PyObject*) PyVectorcall_Call(PyObject*, PyObject*, PyObject*);
PyAPI_FUNC(Py_ssize_t) PyVectorcall_NARGS(size_t);
PyAPI_FUNC(PyObject*) PyType_FromMetaclass(PyTypeObject*, PyObject*, PyType_Spec*, PyObject*);
PyAPI_FUNC(void*) PyObject_GetTypeData(PyObject*, PyTypeObject*);
PyAPI_FUNC(Py_ssize_t) PyType_GetTypeDataSize(PyTypeObject*);
PyAPI_FUNC(PyObject*) PyErr_GetRaisedException(void);
PyAPI_FUNC(void) PyErr_SetRaisedException(PyObject*);
#define PY_VECTORCALL_ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#define Py_TPFLAGS_ITEMS_AT_END (1UL << 23)
#define Py_T_OBJECT_EX T_OBJECT_EX
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_READONLY READONLY
#define Py_mod_multiple_interpreters 3
#define Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED ((void*)0)
#ifdef __cplusplus
}
#endif
