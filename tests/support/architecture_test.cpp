// Holds the sources to the design: which module may include which, what stays above the line, what a library
// never does.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "support/catch.h"
#include "support/paths.h"

namespace {

namespace fs = std::filesystem;

// module -> modules it may include beside itself. What they may include, it may include too.
const std::map<std::string, std::set<std::string>> kEdges = {
    {"base", {}},
    {"plugin", {}},
    {"http", {"base"}},
    {"hub", {"http"}},
    {"program", {"plugin"}},
    {"arguments", {"base"}},
    {"architectures", {"base"}},
    {"tokenizer", {"base"}},
    {"chat", {"tokenizer"}},
    {"storage", {"base"}},
    {"interchange", {"storage"}},
    {"reporting", {"http"}},
    {"report", {"storage"}},
    {"search", {"arguments"}},
    {"tasks", {"arguments", "architectures", "chat", "data", "metrics"}},
    {"plan", {"arguments", "architectures", "generation", "plugin", "storage", "tasks"}},
    {"machine", {"plan"}},
    {"images", {"base"}},
    {"data", {"tokenizer", "images"}},
    {"metrics", {"tokenizer"}},
    {"generation", {"base"}},
    // below the line
    {"runtime", {"base"}},
    {"comm", {"base", "runtime"}},
    {"nn", {"base"}},
    {"models", {"nn", "architectures", "generation"}},
    {"optim", {"base"}},
    {"parallel", {"plan", "comm", "nn", "optim", "storage"}},
    {"checkpoint", {"interchange", "parallel", "runtime"}},
    {"cuda", {"runtime"}},
    {"trainer", {"checkpoint", "data", "generation", "models", "plugin", "reporting", "runtime"}},
    // the programs
    {"launcher", {"machine"}},
    {"launcher/front",
     {"launcher", "data", "generation", "hub", "interchange", "report", "reporting", "search"}},
    {"apps/hftrain", {"launcher/front", "chat", "hub", "report"}},
    {"apps/hftrain-worker", {"program", "trainer"}},
};

const std::set<std::string> kBelowTheLine = {"runtime",
                                             "comm",
                                             "nn",
                                             "models",
                                             "optim",
                                             "parallel",
                                             "checkpoint",
                                             "cuda",
                                             "trainer",
                                             "program",
                                             "apps/hftrain-worker"};

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

// All that a module sees by these edges.
std::set<std::string> seen_from(const std::map<std::string, std::set<std::string>>& edges,
                                const std::string& from) {
  std::set<std::string> seen;
  const auto found = edges.find(from);
  if (found == edges.end()) return seen;
  for (const std::string& next : found->second) {
    seen.insert(next);
    seen.merge(seen_from(edges, next));
  }
  return seen;
}

// The rows of a page's table under a heading: their cells, without the table's own head.
std::vector<std::vector<std::string>> table_under(const std::string& page, const std::string& heading) {
  std::stringstream text(page.substr(page.find("\n" + heading + "\n") + 1));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(text, line) && (rows.empty() || line.starts_with("|"));) {
    if (!line.starts_with("| ")) continue;
    rows.emplace_back();
    std::stringstream cells(line.substr(1));
    for (std::string cell; std::getline(cells, cell, '|');)
      rows.back().push_back(std::regex_replace(cell, std::regex("^ +| +$"), ""));
  }
  if (!rows.empty()) rows.erase(rows.begin());
  return rows;
}

// Where families may be named: the two folders' files of a family, and the registries.
bool belongs_to_a_family(const std::string& path, const std::vector<std::string>& families) {
  static const std::set<std::string> kRegistries = {"lib/hftrain/architectures/architecture.cpp",
                                                    "lib/hftrain/architectures/families.h",
                                                    "lib/hftrain/models/registry.cpp"};
  if (kRegistries.contains(path)) return true;
  for (const std::string& family : families) {
    for (const char* folder : {"lib/hftrain/architectures/", "lib/hftrain/models/"}) {
      if (path.starts_with(folder + family)) return true;
    }
  }
  return false;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// The first family that a text names, as a word or a part of one: gpt2, make_gpt2, kGpt2Heads. "llama3" is a way to
// scale rotary frequencies that configs of any family may name.
std::string family_named_in(const std::string& text, const std::vector<std::string>& families) {
  const auto is = [&](size_t at, int (*kind)(int)) {
    return at < text.size() && kind(static_cast<unsigned char>(text[at])) != 0;
  };
  const std::string lowered = lower(text);
  for (const std::string& family : families) {
    for (size_t at = lowered.find(family); at != std::string::npos; at = lowered.find(family, at + 1)) {
      const size_t end = at + family.size();
      const bool begins =
          at == 0 || !is(at - 1, std::isalpha) || (is(at - 1, std::islower) && is(at, std::isupper));
      if (begins && !is(end, std::islower) && !is(end, std::isdigit)) return family;
    }
  }
  return "";
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

TEST_CASE("the page names every module, on its side of the line, with what the design lets it include") {
  std::stringstream page;
  page << std::ifstream(hftrain::testing::source_dir() + "/docs/architecture.md").rdbuf();
  std::map<std::string, std::set<std::string>> told;
  bool below = false;
  for (const std::vector<std::string>& row : table_under(page.str(), "## Modules")) {
    REQUIRE(row.size() == 3);
    if (row[0] == "*the line*") {
      below = true;
      continue;
    }
    INFO(row[0]);
    CHECK(kBelowTheLine.contains(row[0]) == below);
    CHECK(told.try_emplace(row[0]).second);
    static const std::regex kWord("[a-z]+");
    const std::string names = std::regex_replace(row[2], std::regex("\\([^)]*\\)"), "");
    for (std::sregex_iterator word(names.begin(), names.end(), kWord), end; word != end; ++word) {
      if (word->str() != "nothing") told[row[0]].insert(word->str());
    }
  }
  CHECK(below);
  std::set<std::string> folders;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(hftrain::testing::source_dir() + "/lib/hftrain")) {
    if (entry.is_directory()) folders.insert(entry.path().filename().string());
  }
  for (const std::string& module : folders) {
    INFO(module);
    CHECK(told.contains(module));
    CHECK(seen_from(told, module) == seen_from(kEdges, module));
  }
  for (const auto& [module, unused] : told) {
    INFO(module);
    CHECK(folders.contains(module));
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

TEST_CASE("a plan is resolved from values: whoever resolves it looks at no file and no clock") {
  const std::regex kLooks("fstream|filesystem|chrono|unistd\\.h|hftrain/(base/(file|clock)\\.h|storage/.*)");
  size_t seen = 0;
  for (const Source& source : sources_under({"lib/hftrain/plan"})) {
    if (!source.path.starts_with("lib/hftrain/plan/resolve")) continue;
    ++seen;
    for (const std::string& include : includes_of(source)) {
      INFO(source.path << " includes " << include);
      CHECK_FALSE(std::regex_match(include, kLooks));
    }
  }
  CHECK(seen > 5);
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

TEST_CASE("no family is named outside its own files and the registries") {
  const std::vector<std::string> families = hftrain::architectures::Architecture::model_types();
  for (const char* text : {"gpt2", "a makeGpt2Model", "MAKE_GPT2", "\"gpt2\"", "GPT2Block"})
    CHECK(family_named_in(text, {"gpt2"}) == "gpt2");
  for (const char* text : {"agpt2", "gpt22", "gpt2s"}) CHECK(family_named_in(text, {"gpt2"}).empty());
  for (const Source& source : sources_under({"lib", "launcher", "apps"})) {
    // A tokenizer's patterns are known by the model that they were published with, whatever is trained.
    const bool makes_tokenizers =
        source.module == "tokenizer" || source.path == "apps/hftrain/commands/tokenizer.cpp";
    // Image processors are classes of transformers, called after families whatever model they stand beside.
    const bool knows_processors = source.path == "lib/hftrain/images/processor_class.cpp";
    // What scripts take by default has the name that it was published under.
    const bool knows_scripts = source.path == "lib/hftrain/arguments/rules/script_defaults.h";
    if (makes_tokenizers || knows_processors || knows_scripts || belongs_to_a_family(source.path, families))
      continue;
    INFO(source.path);
    CHECK(family_named_in(source.text, families) == "");
  }
}
