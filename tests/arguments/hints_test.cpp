// What messages advise: every option that a text of the program names is one, and does something in this build.
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "hftrain/arguments/flag.h"
#include "hftrain/arguments/flag_table.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::arguments {
namespace {

namespace fs = std::filesystem;

// Options of other programs (mpirun, srun, docker, hf, ds_to_universal, …) that messages name, and of `hftrain generate`, whose table is that of generation_config.json.
const std::set<std::string> kOfOthers = {"backend_store_uri",
                                         "bind_to",
                                         "bos_token_id",
                                         "cpu_bind",
                                         "decoder_start_token_id",
                                         "decompress",
                                         "delete",
                                         "inject_missing_state",
                                         "input_folder",
                                         "keep",
                                         "map_by",
                                         "max_new_tokens",
                                         "mca",
                                         "no_private",
                                         "ntasks_per_node",
                                         "num_return_sequences",
                                         "output_folder",
                                         "parquet",
                                         "private",
                                         "repo_type",
                                         "revision",
                                         "safe_serialization",
                                         "shm_size",
                                         "time",
                                         "ulimit"};

struct Text {
  std::string place, text;
};

std::string with_underscores(std::string name) {
  for (char& letter : name) letter = letter == '-' ? '_' : letter;
  return name;
}

// The literals of a line of source that is no comment.
void append_literals(const std::string& line, const std::string& place, std::vector<Text>& texts) {
  static const std::regex kLiteral(R"x("((?:[^"\\]|\\.)*)")x");
  const size_t first = line.find_first_not_of(' ');
  if (first == std::string::npos || line.compare(first, 2, "//") == 0) return;
  for (std::sregex_iterator match(line.begin(), line.end(), kLiteral), end; match != end; ++match)
    texts.push_back({place, (*match)[1]});
}

std::vector<Text> texts_of_the_program() {
  std::vector<Text> texts;
  const fs::path root = hftrain::testing::source_dir();
  for (const char* folder : {"lib", "launcher", "apps"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp") continue;
      std::ifstream lines(entry.path());
      int number = 0;
      for (std::string line; std::getline(lines, line);)
        append_literals(line, fs::relative(entry.path(), root).string() + ':' + std::to_string(++number),
                        texts);
    }
  }
  return texts;
}

// What stands alone in a literal is declared there: options of small commands, of the worker, of ssh.
std::set<std::string> declared(const std::vector<Text>& texts) {
  static const std::regex kAlone("(?:-[a-zA-Z],)?--([a-z][a-z0-9_-]+)");
  std::set<std::string> names;
  std::smatch match;
  for (const Text& each : texts) {
    if (std::regex_match(each.text, match, kAlone)) names.insert(with_underscores(match[1]));
  }
  return names;
}

bool works(const Support& support) {
  return support.status == Support::kImplemented || support.status == Support::kAccepted;
}

// Each option of the text, and the word behind it.
void for_each_option(const std::string& text,
                     const std::function<void(const std::string& name, const std::string& word)>& visit) {
  static const std::regex kOption("--([a-z][a-z0-9_-]+)(?:[ =]([a-z0-9_]+))?");
  for (std::sregex_iterator match(text.begin(), text.end(), kOption), end; match != end; ++match)
    visit(with_underscores((*match)[1]), (*match)[2]);
}

void check_words(const Flag& flag, const std::string& text) {
  static const std::regex kWord("[A-Za-z0-9_]+");
  for (std::sregex_iterator match(text.begin(), text.end(), kWord), end; match != end; ++match) {
    const Choice* choice = flag.choice(match->str());
    INFO(flag.name << ": " << match->str() << " in '" << text << "'");
    if (choice != nullptr) CHECK(works(choice->support));
  }
}

}  // namespace

TEST_CASE(
    "every option that a message names exists, and neither it nor the word behind it is planned or refused") {
  const std::vector<Text> texts = texts_of_the_program();
  const std::set<std::string> own = declared(texts);
  size_t seen = 0;
  for (const Text& each : texts) {
    for_each_option(each.text, [&](const std::string& name, const std::string& word) {
      INFO(each.place << ": " << each.text);
      const FlagMatch match = flag_table().find(name);
      if (!match) {
        CHECK((own.contains(name) || kOfOthers.contains(name)));
        return;
      }
      ++seen;
      CHECK(works(match.flag->support));
      const Choice* choice = match.flag->choice(word);
      if (choice != nullptr) CHECK(works(choice->support));
    });
  }
  CHECK(seen > 300);
}

TEST_CASE("what a row advises instead of a word that it refuses is done") {
  size_t seen = 0;
  for (const Flag* flag : flag_table().flags()) {
    check_words(*flag, std::string(flag->support.instead));
    for (const Choice& choice : flag->choices) {
      seen += choice.support.instead.empty() ? 0 : 1;
      check_words(*flag, std::string(choice.support.instead));
    }
  }
  CHECK(seen > 20);
}

}  // namespace hftrain::arguments
