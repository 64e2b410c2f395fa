// Lists of CPUs as Linux and taskset write them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hftrain {

// "1,3-5" -> 1, 3, 4, 5; nothing when the text is not such a list.
std::optional<std::vector<int>> parse_cpu_list(const std::string& text);
// The reverse: "1,3-5".
std::string cpu_list_text(const std::vector<int>& cpus);

}  // namespace hftrain
