#include "hftrain/plan/build_note.h"

#include <algorithm>
#include <cstddef>

#include "hftrain/base/elf_section.h"
#include "hftrain/base/printable.h"
#include "hftrain/plugin/note.h"

namespace hftrain::plan {
namespace {

constexpr size_t kLongestNote = 1024;

void require_same(const Error& refusal, const std::string& what, const std::string& its,
                  const std::string& ours) {
  if (its == ours) return;
  throw Error(refusal)
      .why("it was built for " + what + ' ' + its + ", and this program has " + ours)
      .hint("build it again with the headers and the LibTorch of this installation (find_package(hftrain))");
}

}  // namespace

std::map<std::string, std::string, std::less<>> lines_of_note(std::string_view file) {
  std::string_view text = elf_section(file, HFTRAIN_PLUGIN_SECTION).value_or(std::string_view());
  text = text.substr(0, std::min(text.find('\0'), kLongestNote));
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

void check_compiled_for(const CompiledFor& what, const char* interface_name, const std::string& interface,
                        const std::string& torch_version, const Error& refusal) {
  require_same(refusal, interface_name, what.interface, interface);
  require_same(refusal, "the C++ ABI _GLIBCXX_USE_CXX11_ABI", what.cxx11_abi,
               HFTRAIN_PLUGIN_TEXT(_GLIBCXX_USE_CXX11_ABI));
  if (what.torch != "none" && !torch_version.empty())
    require_same(refusal, "LibTorch", what.torch, torch_version);
}

}  // namespace hftrain::plan
