// Included first in every file on arm64 with clang (TendrilTargets.cmake), whose header of vector
// instructions needs the macro that Eigen must not see.
#include <arm_neon.h>
#undef __ARM_FEATURE_FMA
