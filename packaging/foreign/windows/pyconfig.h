// What Python's headers must know of Windows on x86-64 and its C library, for the stable ABI.
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H
#define MS_WINDOWS
#define MS_WIN64
#define MS_WIN32
#define NT_THREADS
#define WITH_THREAD
#define HAVE_DECLSPEC_DLL
#define Py_ENABLE_SHARED
#define STDC_HEADERS 1
#define HAVE_STDDEF_H 1
#define HAVE_STDINT_H 1
#define HAVE_WCHAR_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_ERRNO_H 1
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_TIME_T 8
#define SIZEOF_PID_T 4
#define SIZEOF_DOUBLE 8
#define SIZEOF_FLOAT 4
#define PY_LONG_LONG long long
#endif
