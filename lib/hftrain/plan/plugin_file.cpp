#include "hftrain/plan/plugin_file.h"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <system_error>

#include "hftrain/architectures/described_family.h"
#include "hftrain/base/elf_section.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/plan/build_note.h"
#include "hftrain/plugin/plugin.h"
#include "hftrain/tasks/described_task.h"

namespace hftrain::plan {
namespace {

Error not_usable(ExitCode code, const std::string& path) {
  return Error(code, "the plug-in cannot be used").where("--plugin " + path);
}

// The text of a section that ends with its first zero; nothing where there is no such section.
std::optional<std::string> text_of_section(std::string_view file, const char* name) {
  const auto section = elf_section(file, name);
  if (!section) return std::nullopt;
  return std::string(section->substr(0, section->find('\0')));
}

}  // namespace

PluginNote read_plugin_note(std::string_view file, const std::string& path) {
  const char* hint = "a library that is built with hftrain/plugin/plugin.h and begins with HFTRAIN_PLUGIN";
  if (!is_shared_library(file))
    throw not_usable(ExitCode::kUsage, path).why("it is no shared library for this machine").hint(hint);
  std::map<std::string, std::string, std::less<>> lines = lines_of_note(file);
  if (lines.count("interface") == 0)
    throw not_usable(ExitCode::kUsage, path)
        .why("it is a shared library and no plug-in of hftrain")
        .hint(hint);
  return {lines["interface"], lines["torch"], lines["cxx11_abi"], lines["name"]};
}

void check_plugin_note(const PluginNote& note, const std::string& path, const std::string& torch_version) {
  check_compiled_for({note.interface, note.torch, note.cxx11_abi}, "plug-in interface",
                     HFTRAIN_PLUGIN_TEXT(HFTRAIN_PLUGIN_INTERFACE), torch_version,
                     not_usable(ExitCode::kEnvironment, path));
}

PluginPlan open_plugin(const std::string& path, const std::string& torch_version) {
  const std::string whole = std::filesystem::absolute(path).lexically_normal().string();
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(whole, unreadable))
    throw not_usable(ExitCode::kUsage, whole)
        .why(std::filesystem::is_directory(whole, unreadable) ? "it is a folder" : "there is no such file")
        .hint("the path of a shared library");
  const MappedFile file(whole, ExitCode::kUsage);
  const PluginNote note = read_plugin_note(file.bytes(), whole);
  check_plugin_note(note, whole, torch_version);
  if (const auto family = text_of_section(file.bytes(), HFTRAIN_FAMILY_SECTION))
    architectures::add_described_family(*family, whole);
  if (const auto task = text_of_section(file.bytes(), HFTRAIN_TASK_SECTION))
    tasks::add_described_task(*task, whole);
  return {note.name, whole, hash_bytes(file.bytes())};
}

std::optional<PluginPlan> plugin_of_plan(const Json& plan) {
  const auto found = plan.is_object() ? plan.find("plugin") : plan.end();
  if (found == plan.end() || !found->is_object()) return std::nullopt;
  const auto text = [&](const char* key) {
    const auto value = found->find(key);
    return value != found->end() && value->is_string() ? value->get<std::string>() : std::string();
  };
  return PluginPlan{text("name"), text("path"), text("hash")};
}

}  // namespace hftrain::plan
