#include "hftrain/data/dataset_shards.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "hftrain/base/error.h"

namespace hftrain::data {
namespace {

constexpr size_t kShardDigits = 5;

bool are_digits(std::string_view text) {
  return text.size() == kShardDigits && text.find_first_not_of("0123456789") == std::string_view::npos;
}

int number_of(std::string_view digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// "00007", as it stands in the name.
std::string digits_of(int number) {
  const std::string digits = std::to_string(number);
  return std::string(kShardDigits - std::min(kShardDigits, digits.size()), '0') + digits;
}

// Which of the numbers from 0 to `total` - 1 no file has, or from 1 to `total` where they are counted so; -1: none.
int first_missing(const std::set<int>& there, int total) {
  const int first = !there.contains(0) && there.contains(total) ? 1 : 0;
  int next = first;
  for (const int number : there) {
    if (number != next) break;
    ++next;
  }
  return next < first + total ? next : -1;
}

}  // namespace

std::optional<Shard> shard_of(const std::string& path) {
  constexpr std::string_view kOf = "-of-";
  const size_t name = path.rfind('/') + 1;
  for (size_t at = path.rfind(kOf); at != std::string::npos && at >= name + kShardDigits + 2;
       at = path.rfind(kOf, at - 1)) {
    const std::string_view number = std::string_view(path).substr(at - kShardDigits, kShardDigits);
    const std::string_view total = std::string_view(path).substr(at + kOf.size(), kShardDigits);
    if (path[at - kShardDigits - 1] == '-' && are_digits(number) && are_digits(total))
      return Shard{path.substr(0, at - kShardDigits - 1), number_of(number), number_of(total)};
  }
  return std::nullopt;
}

void require_all_shards(const RelativePaths& chosen, const RelativePaths& all, const std::string& where) {
  using Set = std::pair<std::string, int>;  // what stands before the numbers, and how many there are
  std::map<Set, std::set<int>> there;
  for (const std::string& path : all) {
    if (const auto shard = shard_of(path)) there[{shard->prefix, shard->total}].insert(shard->number);
  }
  for (const std::string& path : chosen) {
    const auto shard = shard_of(path);
    if (!shard) continue;
    const int missing = first_missing(there[{shard->prefix, shard->total}], shard->total);
    if (missing < 0) continue;
    throw Error(ExitCode::kData, "a part of the data set is missing")
        .where(where)
        .why("there is no " + shard->prefix + '-' + digits_of(missing) + "-of-" + digits_of(shard->total) +
             ", and " + path + " says that there are " + std::to_string(shard->total) + " parts")
        .hint("fetch the data set as a whole, or name the files that are there by --train_file");
  }
}

}  // namespace hftrain::data
