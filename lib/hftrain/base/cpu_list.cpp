#include "hftrain/base/cpu_list.h"

#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain {

std::optional<std::vector<int>> parse_cpu_list(const std::string& text) {
  constexpr int kMost = 1 << 16;
  std::vector<int> cpus;
  if (text.empty()) return cpus;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> ends = split(part, '-');
    const auto first = whole_number(trim(ends.front()));
    const auto last = whole_number(trim(ends.back()));
    if (ends.size() > 2 || !first || !last || *last < *first || *last >= kMost) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    parts.push_back(std::to_string(cpus[i]) + (end - i > 1 ? '-' + std::to_string(cpus[end - 1]) : ""));
    i = end;
  }
  return join(parts, ",");
}

}  // namespace hftrain
