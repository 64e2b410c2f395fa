#include "hftrain/optim/schedule_options.h"

#include <algorithm>

#include "hftrain/base/error.h"

namespace hftrain::optim {
namespace {

std::string joined(const auto& names) {
  std::string list;
  for (const std::string& name : names) list += list.empty() ? name : ", " + name;
  return list;
}

}  // namespace

ScheduleOptions::ScheduleOptions(std::string schedule, Json options)
    : schedule_(std::move(schedule)), options_(options.is_null() ? Json::object() : std::move(options)) {
  if (!options_.is_object()) fail("the options of a schedule are key and value pairs");
}

const Json* ScheduleOptions::take(const std::string& key) {
  known_.insert(key);
  const auto found = options_.find(key);
  return found == options_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<double> ScheduleOptions::number(const std::string& key) {
  const Json* value = take(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) fail("option " + key + " = " + value->dump() + " is not a number");
  return value->get<double>();
}

std::optional<int64_t> ScheduleOptions::integer(const std::string& key) {
  const Json* value = take(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_integer() || value->get<int64_t>() < 0) {
    fail("option " + key + " = " + value->dump() + " is not a whole number of at least 0");
  }
  return value->get<int64_t>();
}

bool ScheduleOptions::boolean(const std::string& key, bool otherwise) {
  const Json* value = take(key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) fail("option " + key + " = " + value->dump() + " is not true or false");
  return value->get<bool>();
}

std::string ScheduleOptions::choice(const std::string& key, const std::vector<std::string>& choices) {
  const Json* value = take(key);
  if (value == nullptr) return choices.front();
  if (!value->is_string() ||
      std::find(choices.begin(), choices.end(), value->get<std::string>()) == choices.end()) {
    fail("option " + key + " = " + value->dump() + " is none of " + joined(choices));
  }
  return value->get<std::string>();
}

void ScheduleOptions::finish() const {
  for (const auto& [key, value] : options_.items()) {
    if (known_.contains(key)) continue;
    throw Error(ExitCode::kUsage, "schedule " + schedule_ + " has no option \"" + key + "\"")
        .where("--lr_scheduler_kwargs")
        .why("what a schedule does not read would do nothing")
        .hint(known_.empty() ? "it takes no options" : "its options are " + joined(known_));
  }
}

void ScheduleOptions::fail(const std::string& what) const {
  throw Error(ExitCode::kUsage, what)
      .where("--lr_scheduler_kwargs of schedule " + schedule_)
      .why("the schedule cannot be made with it")
      .hint("docs/optimizers_and_schedules.md has the options of each");
}

}  // namespace hftrain::optim
