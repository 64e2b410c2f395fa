#include "hftrain/arguments/other_machines.h"

#include "hftrain/base/error.h"

namespace hftrain::arguments {

std::optional<std::string> other_machines(const ParseOutcome& parsed) {
  const auto found = parsed.unread.find("machines");
  if (found == parsed.unread.end() || !found->second.is_string()) return std::nullopt;
  return found->second.get<std::string>();
}

void require_this_machine(const ParseOutcome& parsed) {
  if (!other_machines(parsed)) return;
  throw Error(ExitCode::kUsage, "--machines is for plans")
      .where("--machines")
      .why("what is planned for other machines cannot be started on this one")
      .hint("hftrain plan --machines …");
}

Environment of_other_machines(const Environment& environment) {
  Environment there = environment;
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "OMP_NUM_THREADS", "MKL_NUM_THREADS"})
    there.unset(name);
  for (const auto& [name, value] : environment.variables()) {
    if (name.starts_with("PET_")) there.unset(name);
  }
  return there;
}

}  // namespace hftrain::arguments
