#include "launcher/front/told_in_a_line.h"

#include <string_view>

namespace hftrain::front {
namespace {

std::string_view up_to_line_end(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string in_a_line(const Diagnostic& diagnostic) {
  const std::string_view why = up_to_line_end(diagnostic.why);
  return diagnostic.what + (why.empty() ? "" : ": " + std::string(why));
}

std::string in_a_line(const std::string& shown) {
  constexpr std::string_view kPart = "\n  ", kWhy = "\n  why: ";
  const std::string_view what = up_to_line_end(shown);
  std::string_view rest = std::string_view(shown).substr(what.size());
  while (rest.starts_with(kPart) && !rest.starts_with(kWhy)) {
    const std::string_view part = up_to_line_end(rest.substr(1));
    rest.remove_prefix(1 + part.size());
  }
  if (!rest.starts_with(kWhy)) return std::string(what);
  return std::string(what) + ": " + std::string(up_to_line_end(rest.substr(kWhy.size())));
}

}  // namespace hftrain::front
