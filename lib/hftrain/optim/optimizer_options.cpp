#include "hftrain/optim/optimizer_options.h"

#include <charconv>

#include "hftrain/base/error.h"

namespace hftrain::optim {
const std::string* OptimizerOptions::take(const std::string& key) {
  known_.insert(key);
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

double OptimizerOptions::number(const std::string& key, double otherwise) {
  const std::string* value = take(key);
  if (value == nullptr) return otherwise;
  double result = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), result);
  if (error != std::errc() || end != value->data() + value->size()) {
    fail(key + "=" + *value + " is not a number");
  }
  return result;
}

bool OptimizerOptions::boolean(const std::string& key, bool otherwise) {
  const std::string* value = take(key);
  if (value == nullptr) return otherwise;
  if (*value == "True" || *value == "true" || *value == "1") return true;
  if (*value == "False" || *value == "false" || *value == "0") return false;
  fail(key + "=" + *value + " is not true or false");
}

std::string OptimizerOptions::text(const std::string& key, const std::string& otherwise) {
  const std::string* value = take(key);
  return value == nullptr ? otherwise : *value;
}

void OptimizerOptions::finish() const {
  for (const auto& [key, value] : values_) {
    if (known_.contains(key)) continue;
    std::string known;
    for (const std::string& name : known_) known += known.empty() ? name : ", " + name;
    throw Error(ExitCode::kUsage, "optimizer " + optimizer_ + " has no option \"" + key + "\"")
        .where("--optim_args")
        .why("what an optimizer does not read would do nothing")
        .hint(known.empty() ? "it takes no options" : "its options are " + known);
  }
}

void OptimizerOptions::fail(const std::string& what) const {
  throw Error(ExitCode::kUsage, what)
      .where("--optim_args of " + optimizer_)
      .why("the optimizer cannot be made with it")
      .hint("docs/optimizers_and_schedules.md has the options of each; --optim_args \"key=value,key=value\"");
}

}  // namespace hftrain::optim
