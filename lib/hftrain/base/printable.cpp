#include "hftrain/base/printable.h"

#include <cstdint>
#include <cstdio>
#include <utility>

namespace hftrain {
namespace {

bool is_shortest(uint32_t code, size_t size) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return code >= kLeast[size];
}

bool is_surrogate(uint32_t code) {
  return code >= 0xD800 && code < 0xE000;
}

// The code point at the beginning of a text and how many bytes it takes; no bytes where that is not UTF-8.
std::pair<uint32_t, size_t> first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t size = lead < 0x80                   ? 1
                      : lead >= 0xC2 && lead < 0xE0 ? 2
                      : lead >= 0xE0 && lead < 0xF0 ? 3
                      : lead >= 0xF0 && lead < 0xF5 ? 4
                                                    : 0;
  if (size == 0 || size > text.size()) return {0, 0};
  uint32_t code = size == 1 ? lead : lead & (0x7FU >> size);
  for (size_t i = 1; i < size; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return {0, 0};
    code = code << 6 | (next & 0x3FU);
  }
  return is_shortest(code, size) && !is_surrogate(code) && code <= 0x10FFFF
             ? std::pair{code, size}
             : std::pair<uint32_t, size_t>{0, 0};
}

bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

bool turns_direction(uint32_t code) {
  return (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0x200E ||
         code == 0x200F || code == 0x2028 || code == 0x2029;
}

void append_escaped(uint32_t code, const char* form, std::string& out) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, form, static_cast<unsigned>(code));
  out += buffer;
}

}  // namespace

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t size = first_code_point(text.substr(at)).second;
    if (size == 0) return at;
    at += size;
  }
  return std::nullopt;
}

std::string printable(std::string_view text, Lines lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code, size] = first_code_point(text);
    const bool stays = code == '\t' || (code == '\n' && lines == Lines::kMany);
    if (size == 0) {
      append_escaped(static_cast<unsigned char>(text[0]), "\\x%02x", out);
    } else if (is_control(code) && !stays) {
      append_escaped(code, "\\x%02x", out);
    } else if (turns_direction(code)) {
      append_escaped(code, "\\u%04x", out);
    } else {
      out.append(text.substr(0, size));
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

void make_printable(Json& value, Lines lines) {
  if (value.is_string()) {
    value = printable(value.get_ref<const std::string&>(), lines);
  } else if (value.is_array()) {
    for (Json& item : value) make_printable(item, lines);
  } else if (value.is_object()) {
    Json printed = Json::object();
    for (auto& [key, item] : value.get_ref<Json::object_t&>()) {
      make_printable(item, lines);
      printed[printable(key, Lines::kOne)] = std::move(item);
    }
    value = std::move(printed);
  }
}

}  // namespace hftrain
