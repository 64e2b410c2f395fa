// Numbers of YAML 1.1, as PyYAML's safe_load finds them in scalars without quotes.
#pragma once

#include <string>
#include <string_view>

namespace hftrain::arguments {

// A number as everybody writes it: "16" of 0x10, "8" of 010, "20000" of 20_000, "90" of 1:30, "90.5" of 1:30.5. A whole one beyond
// int64 in another base than ten becomes its double. What is no finite number there (1e3, 0o10, 09, .inf, dates) comes back as it is.
std::string decimal_of_yaml(std::string_view scalar);

}  // namespace hftrain::arguments
