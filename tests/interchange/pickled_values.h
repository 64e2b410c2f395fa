// Values as pickles write them, one instruction after the other, for files that tests make.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hftrain::interchange::pickled {

using Entries = std::vector<std::pair<std::string, std::string>>;

template <class Value>
std::string raw(Value value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
inline std::string number(int32_t value) {
  return 'J' + raw(value);
}
inline std::string long_number(int64_t value) {
  return "\x8a\x08" + raw(value);
}
inline std::string truth(bool value) {
  return value ? "\x88" : "\x89";
}
inline std::string text(const std::string& value) {
  return 'X' + raw(static_cast<uint32_t>(value.size())) + value;
}
inline std::string dict_of(const Entries& entries) {  // keys as they are written
  std::string bytes = "}(";
  for (const auto& [key, value] : entries) bytes += key + value;
  return bytes + 'u';
}
inline std::string dict(const Entries& entries) {
  Entries keyed;
  for (const auto& [key, value] : entries) keyed.emplace_back(text(key), value);
  return dict_of(keyed);
}
inline std::string list(const std::vector<std::string>& items) {
  std::string bytes = "](";
  for (const std::string& item : items) bytes += item;
  return bytes + 'e';
}

}  // namespace hftrain::interchange::pickled
