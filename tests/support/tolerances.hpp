#pragma once

namespace tendril::test {

/// Two ways of computing the same thing: rounding only, quantities of order 1.
inline constexpr double kAlgebraTolerance = 1e-12;

/// Values printed with nine decimals (in units of order 1).
inline constexpr double kPrintedTolerance = 1e-9;

/// Central differences with step kDifferenceStep: truncation (h^2) and rounding (1e-16/h) are both
/// below it.
inline constexpr double kDifferenceStep = 1e-5;
inline constexpr double kDifferenceTolerance = 1e-8;

}  // namespace tendril::test
