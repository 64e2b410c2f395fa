// Holds the sources to the design: which module may include which, what stays above the line, what a library
// never does.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/paths.h"

namespace {

namespace fs = std::filesystem;

// module -> modules it may include beside itself. What they may include, it may include too.
const std::map<std::string, std::set<std::string>> kEdges = {
    {"base", {}},
    {"arguments", {"base"}},
    {"architectures", {"base"}},
    {"tokenizer", {"base"}},
    {"storage", {"base"}},
    {"reporting", {"base"}},
    {"plan", {"arguments", "architectures", "storage"}},
    {"machine", {"plan"}},
    {"data", {"tokenizer"}},
    {"metrics", {"tokenizer"}},
    // below the line
    {"runtime", {"base"}},
    {"comm", {"base"}},
    {"nn", {"base"}},
    {"models", {"nn", "architectures"}},
    {"optim", {"base"}},
    {"parallel", {"plan", "comm", "nn", "optim", "storage"}},
    {"checkpoint", {"storage", "parallel", "runtime"}},
    {"generation", {"models"}},
    {"cuda", {"runtime"}},
    {"trainer", {"checkpoint", "data", "generation", "models", "reporting", "runtime"}},
    {"plugin", {"trainer"}},
    // the programs
    {"launcher", {"machine"}},
    {"launcher/front", {"launcher", "data", "reporting", "storage"}},
    {"apps/hftrain", {"launcher/front"}},
    {"apps/hftrain-worker", {"trainer"}},
};

const std::set<std::string> kBelowTheLine = {"runtime", "comm",     "nn",         "models",
                                             "optim",   "parallel", "checkpoint", "generation",
                                             "cuda",    "trainer",  "plugin",     "apps/hftrain-worker"};

struct Source {
  std::string path;    // relative to the checkout
  std::string module;  // a key of kEdges
  std::string text;
};

std::string module_of(const std::string& path) {
  std::smatch match;
  if (std::regex_search(path, match, std::regex("^lib/hftrain/([^/]+)/"))) return match[1];
  if (std::regex_search(path, match, std::regex("^(apps/[^/]+|launcher/front)/"))) return match[1];
  return path.substr(0, path.find('/'));
}

std::vector<Source> sources_under(const std::vector<std::string>& folders) {
  std::vector<Source> sources;
  const fs::path root = hftrain::testing::source_dir();
  for (const std::string& folder : folders) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      const std::string path = fs::relative(entry.path(), root).string();
      sources.push_back({path, module_of(path), text.str()});
    }
  }
  return sources;
}

std::vector<std::string> includes_of(const Source& source) {
  static const std::regex kInclude("(?:^|\n)[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"]");
  std::vector<std::string> includes;
  for (std::sregex_iterator match(source.text.begin(), source.text.end(), kInclude), end; match != end;
       ++match) {
    includes.push_back((*match)[1]);
  }
  return includes;
}

// The module an include names; empty for the system's headers and for the module's own short includes.
std::string included_module(const std::string& include) {
  if (include.rfind("hftrain/", 0) == 0) return module_of("lib/" + include);
  if (include.rfind("launcher/", 0) == 0) return module_of(include);
  return "";
}

bool may_include(const std::string& from, const std::string& to) {
  if (from == to) return true;
  const auto edges = kEdges.find(from);
  if (edges == kEdges.end()) return false;
  for (const std::string& next : edges->second) {
    if (may_include(next, to)) return true;
  }
  return false;
}

// The end of the comment or literal that starts at `at`, or `at` when none does. (std::regex would recurse
// over it.)
size_t skip_blank(const std::string& text, size_t at) {
  const auto after = [&](const std::string& closing, size_t from) {
    const size_t found = text.find(closing, from);
    return found == std::string::npos ? text.size() : found + closing.size();
  };
  if (text.compare(at, 2, "//") == 0) return after("\n", at) - 1;
  if (text.compare(at, 2, "/*") == 0) return after("*/", at + 2);
  if (text.compare(at, 2, "R\"") == 0) {
    const size_t open = text.find('(', at);
    std::string closing = text.substr(at + 1, open - at);
    closing.front() = ')', closing.back() = '"';
    return after(closing, open);
  }
  if (text[at] != '"') return at;
  for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\';
  return at + 1;
}

// Code without comments and literals, so that only what runs is searched.
std::string code_of(const std::string& text) {
  std::string code;
  for (size_t at = 0; at < text.size();) {
    const size_t end = skip_blank(text, at);
    code += end == at ? text[at] : ' ';
    at = std::max(end, at + 1);
  }
  return code;
}

}  // namespace

TEST_CASE("every source belongs to a module of the design") {
  for (const Source& source : sources_under({"lib", "launcher", "apps"})) {
    INFO(source.path);
    CHECK(kEdges.contains(source.module));
  }
}

TEST_CASE("a module includes only what the design lets it include") {
  for (const Source& source : sources_under({"lib", "launcher", "apps"})) {
    for (const std::string& include : includes_of(source)) {
      const std::string module = included_module(include);
      INFO(source.path << " includes " << include);
      CHECK((module.empty() || may_include(source.module, module)));
    }
  }
}

TEST_CASE("nothing above the line includes LibTorch") {
  for (const Source& source : sources_under({"lib", "launcher", "apps"})) {
    if (kBelowTheLine.contains(source.module)) continue;
    for (const std::string& include : includes_of(source)) {
      INFO(source.path << " includes " << include);
      CHECK_FALSE(std::regex_search(include, std::regex("^(torch|ATen|c10)/")));
    }
  }
}

TEST_CASE("no header includes torch/torch.h or torch/all.h") {
  for (const Source& source : sources_under({"lib", "launcher", "apps"})) {
    if (source.path.back() != 'h') continue;
    for (const std::string& include : includes_of(source)) {
      INFO(source.path << " includes " << include);
      CHECK_FALSE((include == "torch/torch.h" || include == "torch/all.h"));
    }
  }
}

TEST_CASE("the library neither prints nor ends the process") {
  const std::regex forbidden(  // calls, not members of the same name
      R"((^|[;{})?:(]\s*|[^\w]::|\bstd::|\belse\s+|\breturn\s+))"
      R"((printf|fprintf|puts|fputs|putchar|perror|exit|_exit|_Exit|quick_exit)\s*\()"
      R"(|([^\w]::|\bstd::)(abort|terminate)\s*\(|\bstd::(cout|cerr|clog)\b)");
  // Where a program asks for it by installing the handlers: a second signal leaves at once, and only a
  // handler can.
  const std::set<std::string> exceptions = {"lib/hftrain/base/fault_handlers.cpp",
                                            "lib/hftrain/trainer/stop_request.cpp"};
  for (const Source& source : sources_under({"lib"})) {
    if (exceptions.contains(source.path)) continue;
    std::smatch match;
    const std::string code = code_of(source.text);
    const bool found = std::regex_search(code, match, forbidden);
    INFO(source.path << ": " << (found ? match.str() : ""));
    CHECK_FALSE(found);
  }
}
