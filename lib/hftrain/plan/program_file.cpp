#include "hftrain/plan/program_file.h"

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <system_error>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/build_note.h"
#include "hftrain/plugin/note.h"

namespace hftrain::plan {
namespace {

Error unusable_program(ExitCode code, const std::string& path) {
  return Error(code, "the program cannot be used").where("--worker_program " + path);
}

}  // namespace

std::string open_program(const std::string& path, const std::string& torch_version) {
  const char* hint =
      "a program that is built with hftrain/program/trainer.h and linked with hftrain::hftrain";
  const std::string whole = std::filesystem::absolute(path).lexically_normal().string();
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(whole, unreadable))
    throw unusable_program(ExitCode::kUsage, whole).why("there is no such file").hint(hint);
  if (::access(whole.c_str(), X_OK) != 0)
    throw unusable_program(ExitCode::kUsage, whole).why("it may not be executed").hint(hint);
  const MappedFile file(whole, ExitCode::kUsage);
  std::map<std::string, std::string, std::less<>> lines = lines_of_note(file.bytes());
  if (lines.count("program_interface") == 0)
    throw unusable_program(ExitCode::kUsage, whole)
        .why("it is no position-independent program with a Trainer of hftrain")
        .hint(hint);
  check_compiled_for({lines["program_interface"], lines["torch"], lines["cxx11_abi"]},
                     "interface for programs", HFTRAIN_PLUGIN_TEXT(HFTRAIN_PROGRAM_INTERFACE), torch_version,
                     unusable_program(ExitCode::kEnvironment, whole));
  return whole;
}

}  // namespace hftrain::plan
