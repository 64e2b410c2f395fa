#include "launcher/front/text_paths.h"

#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/printable.h"

namespace hftrain::front {
namespace {

void require_text_in(const std::string& text) {
  if (!first_invalid_utf8(text)) return;
  throw Error(ExitCode::kUsage, "a name is not UTF-8 text")
      .where(printable(text))
      .why("names are written into the plan that the ranks read, and reports")
      .hint("another name for the file or folder");
}

}  // namespace

void require_text(const std::string& folder, const std::string& named) {
  if (!first_invalid_utf8(folder)) return;
  throw Error(ExitCode::kUsage, "the name of a folder is not UTF-8 text")
      .where(named + ": " + printable(folder))
      .why("names are written into the plan that the ranks read, and reports")
      .hint("another name for the folder, or another folder");
}

void require_text_of_current_folder() {
  require_text(std::filesystem::current_path().string(), "the current folder");
}

void require_text_in_plan(const Json& plan) {
  if (plan.is_string()) return require_text_in(plan.get_ref<const std::string&>());
  if (!plan.is_structured()) return;
  for (const auto& [key, value] : plan.items()) {
    require_text_in(key);
    require_text_in_plan(value);
  }
}

}  // namespace hftrain::front
