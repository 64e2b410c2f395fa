#include "hftrain/architectures/tagged_numbers.h"

#include <cmath>
#include <utility>

namespace hftrain::architectures {
namespace {

constexpr const char* kTag = "__float__";

void tag(Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    value = {{kTag, dump_json(value)}};
  } else if (value.is_structured()) {
    for (Json& item : value) tag(item);
  }
}

void untag(Json& value) {
  if (!value.is_structured()) return;
  const bool tagged = value.is_object() && value.size() == 1 && value.contains(kTag);
  for (const char* name : {"Infinity", "-Infinity", "NaN"}) {
    if (tagged && value[kTag] == name) {
      value = parse_json(name, kTag);
      return;
    }
  }
  for (Json& item : value) untag(item);
}

}  // namespace

Json with_tagged_numbers(Json value) {
  tag(value);
  return value;
}

Json without_tagged_numbers(Json value) {
  untag(value);
  return value;
}

}  // namespace hftrain::architectures
