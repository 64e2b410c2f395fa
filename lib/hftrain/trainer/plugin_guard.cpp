#include "hftrain/trainer/plugin_guard.h"

#include <exception>

#include "hftrain/base/error.h"
#include "hftrain/base/printable.h"
#include "hftrain/runtime/translate.h"

namespace hftrain::trainer {
namespace {

std::string words_of(const Error& error) {
  const Diagnostic& first = error.diagnostics().front();
  if (first.why.empty()) return first.what;
  return first.what == "unexpected error" ? first.why : first.what + ": " + first.why;
}

}  // namespace

void PluginPart::rethrow(const char* doing) const {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (...) {
  }
  const Error error = runtime::translate(std::current_exception());
  throw Error(error.code(), whole + " has failed")
      .where(name + ", " + doing + ", " + path)
      .why(printable(words_of(error), Lines::kMany))
      .hint("mend it, or train without it");
}

}  // namespace hftrain::trainer
