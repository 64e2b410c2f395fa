#include "launcher/environments/slurm.h"

#include <optional>

#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::launcher {
namespace {

constexpr size_t kLongestName = 255;  // no longer than a name of the Internet's
constexpr int kMostBrackets = 8;      // of one name

// Splits at the commas that stand outside of brackets; empty when brackets do not match.
std::vector<std::string_view> split_outside(std::string_view list) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  bool inside = false;
  for (size_t at = 0; at <= list.size(); ++at) {
    if (at < list.size() && list[at] == '[' && inside) return {};
    if (at < list.size() && list[at] == ']' && !inside) return {};
    if (at < list.size() && (list[at] == '[' || list[at] == ']')) inside = list[at] == '[';
    if (at < list.size() && (list[at] != ',' || inside)) continue;
    parts.push_back(list.substr(begin, at - begin));
    begin = at + 1;
  }
  return inside ? std::vector<std::string_view>() : parts;
}

// "01-03" -> 01, 02, 03; "7" -> 7. False when it is no range, or with it there are more than `most` numbers.
bool expand_range(std::string_view range, size_t most, std::vector<std::string>& numbers) {
  const size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  const std::optional<int64_t> low = whole_number<int64_t>(first), high = whole_number<int64_t>(last);
  if (!low || !high || *low > *high || first.size() > kLongestName ||
      static_cast<size_t>(*high - *low) >= most - numbers.size())
    return false;
  for (int64_t number = *low; number <= *high; ++number) {
    std::string digits = std::to_string(number);
    if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
    numbers.push_back(std::move(digits));
  }
  return true;
}

// One name with up to `brackets` brackets. False when it is malformed, or with it there are more than `most` hosts.
bool expand_name(std::string_view name, int brackets, size_t most, std::vector<std::string>& hosts) {
  const size_t open = name.find('[');
  if (open == std::string_view::npos) {
    if (name.empty() || name.size() > kLongestName || hosts.size() >= most) return false;
    hosts.emplace_back(name);
    return true;
  }
  const size_t close = name.find(']', open);
  if (close == std::string_view::npos || brackets == 0) return false;
  std::vector<std::string> numbers;
  for (const std::string& range : split(name.substr(open + 1, close - open - 1), ',')) {
    if (!expand_range(range, most, numbers)) return false;
  }
  for (const std::string& number : numbers) {
    const std::string rest = std::string(name.substr(0, open)) + number + std::string(name.substr(close + 1));
    if (!expand_name(rest, brackets - 1, most, hosts)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> expand_node_list(std::string_view list, size_t most) {
  std::vector<std::string> hosts;
  for (const std::string_view name : split_outside(list)) {
    if (!expand_name(name, kMostBrackets, most, hosts)) return {};
  }
  return hosts;
}

std::vector<int> expand_tasks_per_node(std::string_view tasks, size_t most) {
  std::vector<int> counts;
  for (const std::string& part : split(tasks, ',')) {
    const size_t open = part.find("(x");
    const std::optional<int> count = whole_number(std::string_view(part).substr(0, open));
    std::optional<int> times = 1;
    if (open != std::string::npos) {
      if (part.back() != ')') return {};
      times = whole_number(std::string_view(part).substr(open + 2, part.size() - open - 3));
    }
    if (!count || !times || counts.size() + static_cast<size_t>(*times) > most) return {};
    counts.insert(counts.end(), static_cast<size_t>(*times), *count);
  }
  return counts;
}

int port_of_step(int64_t job, int64_t step) {
  constexpr int64_t kFirstPort = 20000, kPorts = 10000;
  constexpr int64_t kSpread = 97;  // steps of one job are far from those of the next jobs
  return static_cast<int>(kFirstPort + (job % kPorts + step % kPorts * kSpread) % kPorts);
}

}  // namespace hftrain::launcher
