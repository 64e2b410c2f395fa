#include "hftrain/architectures/size_expression.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "hftrain/base/checked_arithmetic.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::architectures {
namespace {

std::optional<int64_t> factor_of(const std::string& word, const Json& config) {
  int64_t number = 0;
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end && !word.empty() && number >= 0) return number;
  const auto key = config.find(word);
  if (key == config.end() || !key->is_number_integer() || key->get<int64_t>() < 0) return std::nullopt;
  return key->get<int64_t>();
}

}  // namespace

int64_t size_of_expression(const std::string& expression, const Json& config, const std::string& origin) {
  std::optional<int64_t> sum = 0;
  for (const std::string& product : split(expression, '+')) {
    std::optional<int64_t> value = 1;
    for (const std::string& word : split(product, '*')) {
      const std::optional<int64_t> factor = factor_of(trim(word), config);
      value = value && factor ? checked_product(*value, *factor) : std::nullopt;
    }
    sum = sum && value ? checked_sum(*sum, *value) : std::nullopt;
  }
  if (sum) return *sum;
  throw Error(ExitCode::kData, "the size '" + expression + "' of a plug-in's family cannot be counted")
      .where(origin)
      .why(
          "it is a sum of products of whole numbers and keys of the config, as 4*hidden_size+2, and has to "
          "fit into 63 bits")
      .hint("correct the keys that it names, or the description in the plug-in");
}

}  // namespace hftrain::architectures
