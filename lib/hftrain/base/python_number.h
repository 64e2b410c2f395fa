// Floats spelled and rounded as Python does.
#pragma once

#include <string>

namespace hftrain {

// repr(float): the shortest digits that read back as the same double; 1e-05, 0.0001, 1.0, 1e+16, inf, nan.
std::string python_repr(double value);

// round(value, decimals), correctly rounded from the exact binary value; 0 <= decimals <= 150.
double python_round(double value, int decimals);

}  // namespace hftrain
