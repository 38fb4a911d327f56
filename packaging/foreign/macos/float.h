// In front of libc++'s header of this name, which is included once: the system's <math.h> asks for
// two macros alone, before others ask for all.
#ifdef __need_infinity_nan
#include <__float_infinity_nan.h>
#undef __need_infinity_nan
#else
#include_next <float.h>
#endif
