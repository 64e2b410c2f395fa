#include "hftrain/tokenizer/metaspace.h"

#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

Metaspace::Prepend prepend_of(const JsonPart& part) {
  const std::string_view scheme = part.text();
  if (scheme == "first") return Metaspace::Prepend::kFirst;
  if (scheme == "never") return Metaspace::Prepend::kNever;
  if (scheme == "always") return Metaspace::Prepend::kAlways;
  throw part.unsupported("the prepend_scheme '" + std::string(scheme) + "' is not known here");
}

}  // namespace

Metaspace read_metaspace(const JsonPart& part) {
  Metaspace metaspace;
  metaspace.replacement = part.text("replacement");
  const std::string& mark = metaspace.replacement;
  if (mark.empty() || unicode::size_of(mark[0]) != mark.size())
    throw part.at("replacement").error("one character is needed here");
  const auto scheme = part.find("prepend_scheme");
  if (scheme) metaspace.prepend = prepend_of(*scheme);
  if (!part.boolean("add_prefix_space", true)) {
    if (scheme && metaspace.prepend != Metaspace::Prepend::kNever) {
      throw part.error("add_prefix_space does not match prepend_scheme");
    }
    metaspace.prepend = Metaspace::Prepend::kNever;
  }
  metaspace.split = part.boolean("split", true);
  return metaspace;
}

}  // namespace hftrain::tokenizer
