#include "hftrain/report/members.h"

#include <cmath>

namespace hftrain::report {
namespace {

constexpr double kEndOfYear9999 = 253'402'300'800;

const Json* member_of(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

double number_or(const Json& object, const char* name, double otherwise) {
  const Json* found = member_of(object, name);
  if (found == nullptr || !found->is_number()) return otherwise;
  const auto value = found->get<double>();
  return std::isfinite(value) ? value : otherwise;
}

std::string text_or(const Json& object, const char* name, const std::string& otherwise) {
  const Json* found = member_of(object, name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : otherwise;
}

const Json& object_or_empty(const Json& object, const char* name) {
  static const Json empty = Json::object();
  const Json* found = member_of(object, name);
  return found != nullptr && found->is_object() ? *found : empty;
}

double time_or_none(double seconds) {
  return seconds > 0 && seconds < kEndOfYear9999 ? seconds : 0;
}

}  // namespace hftrain::report
