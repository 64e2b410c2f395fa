#include "hftrain/plan/plugin_file.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>

#include "hftrain/base/elf_section.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/base/printable.h"
#include "hftrain/plugin/plugin.h"

namespace hftrain::plan {
namespace {

constexpr size_t kLongestNote = 1024;

Error not_usable(ExitCode code, const std::string& path) {
  return Error(code, "the plug-in cannot be used").where("--plugin " + path);
}

Error built_for_other(const std::string& path, const std::string& what, const std::string& its,
                      const std::string& ours) {
  return not_usable(ExitCode::kEnvironment, path)
      .why("it was built for " + what + ' ' + its + ", and this program has " + ours)
      .hint("build it again with the headers and the LibTorch of this installation (find_package(hftrain))");
}

std::map<std::string, std::string, std::less<>> lines_of_note(std::string_view text) {
  std::map<std::string, std::string, std::less<>> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + (line.size() < text.size() ? 1 : 0));
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos)
      lines.emplace(line.substr(0, equals), printable(line.substr(equals + 1)));
  }
  return lines;
}

}  // namespace

PluginNote read_plugin_note(std::string_view file, const std::string& path) {
  const char* hint = "a library that is built with hftrain/plugin/plugin.h and begins with HFTRAIN_PLUGIN";
  if (!is_shared_library(file))
    throw not_usable(ExitCode::kUsage, path).why("it is no shared library for this machine").hint(hint);
  std::string_view text = elf_section(file, HFTRAIN_PLUGIN_SECTION).value_or(std::string_view());
  text = text.substr(0, std::min(text.find('\0'), kLongestNote));
  std::map<std::string, std::string, std::less<>> lines = lines_of_note(text);
  if (lines.count("interface") == 0)
    throw not_usable(ExitCode::kUsage, path)
        .why("it is a shared library and no plug-in of hftrain")
        .hint(hint);
  return {lines["interface"], lines["torch"], lines["cxx11_abi"], lines["name"]};
}

void check_plugin_note(const PluginNote& note, const std::string& path, const std::string& torch_version) {
  const std::string interface = HFTRAIN_PLUGIN_TEXT(HFTRAIN_PLUGIN_INTERFACE);
  if (note.interface != interface)
    throw built_for_other(path, "plug-in interface", note.interface, interface);
  const std::string abi = HFTRAIN_PLUGIN_TEXT(_GLIBCXX_USE_CXX11_ABI);
  if (note.cxx11_abi != abi)
    throw built_for_other(path, "the C++ ABI _GLIBCXX_USE_CXX11_ABI", note.cxx11_abi, abi);
  if (note.torch != "none" && !torch_version.empty() && note.torch != torch_version)
    throw built_for_other(path, "LibTorch", note.torch, torch_version);
}

PluginPlan open_plugin(const std::string& path, const std::string& torch_version) {
  const std::string whole = std::filesystem::absolute(path).lexically_normal().string();
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(whole, unreadable))
    throw not_usable(ExitCode::kUsage, whole)
        .why("there is no such file")
        .hint("the path of a shared library");
  const MappedFile file(whole, ExitCode::kUsage);
  const PluginNote note = read_plugin_note(file.bytes(), whole);
  check_plugin_note(note, whole, torch_version);
  return {note.name, whole, hash_bytes(file.bytes())};
}

}  // namespace hftrain::plan
