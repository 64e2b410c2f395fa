#include "hftrain/arguments/parallel_options.h"

#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

std::string text_of(const std::string& value) {
  return value;
}
std::string text_of(int64_t value) {
  return std::to_string(value);
}
std::string text_of(bool value) {
  return value ? "true" : "false";
}
std::string text_of(const std::vector<std::string>& value) {
  return join(value, ", ");
}

}  // namespace

template <typename T>
void assign(Sourced<T>& field, T value, const std::string& origin, const std::string& what,
            std::vector<Diagnostic>& problems) {
  if (field && *field != value) {
    problems.push_back(
        {Diagnostic::Severity::kError, what + " is given twice and differently", origin,
         text_of(*field) + " (" + field.origin + ") and " + text_of(value) + " (" + origin + ')',
         "leave one of them out, or make them equal"});
    return;
  }
  if (!field) field = {std::move(value), origin};
}

template void assign(Sourced<std::string>&, std::string, const std::string&, const std::string&,
                     std::vector<Diagnostic>&);
template void assign(Sourced<int64_t>&, int64_t, const std::string&, const std::string&,
                     std::vector<Diagnostic>&);
template void assign(Sourced<bool>&, bool, const std::string&, const std::string&, std::vector<Diagnostic>&);
template void assign(Sourced<std::vector<std::string>>&, std::vector<std::string>, const std::string&,
                     const std::string&, std::vector<Diagnostic>&);

}  // namespace hftrain::arguments
