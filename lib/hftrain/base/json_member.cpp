#include "hftrain/base/json_member.h"

namespace hftrain {

Json json_member(const Json& object, const std::string& name) {
  return object.is_object() ? object.value(name, Json()) : Json();
}

std::string json_text(const Json& object, const std::string& name) {
  const Json value = json_member(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace hftrain
