#include "hftrain/arguments/config_file.h"

#include <yaml-cpp/yaml.h>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr int kDeepest = 32;       // levels of a configuration
constexpr int kLargest = 100'000;  // values, aliases followed

bool is_json(const std::string& path) {
  return path.size() > 5 && path.substr(path.size() - 5) == ".json";
}

// Blanks out // and /* */ comments of JSON, so that positions stay right.
std::string without_comments(std::string text) {
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        quoted = false;
      continue;
    }
    if (text[i] == '"') quoted = true;
    if (text[i] != '/' || i + 1 >= text.size()) continue;
    const bool line = text[i + 1] == '/';
    if (!line && text[i + 1] != '*') continue;
    const size_t end = line ? text.find('\n', i) : text.find("*/", i + 2);
    const size_t stop = end == std::string::npos ? text.size() : end + (line ? 0 : 2);
    for (; i < stop; ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
    --i;
  }
  return text;
}

class Reader {
 public:
  Reader(const std::string& path, int layer, Diagnostics& problems)
      : path_(path), layer_(layer), problems_(problems) {}

  ConfigFile read() {
    try {
      std::string text = read_file(path_, ExitCode::kUsage);
      if (is_json(path_)) text = without_comments(std::move(text));
      const std::vector<YAML::Node> documents = YAML::LoadAll(text);
      if (documents.size() > 1) {
        problem("more than one YAML document", place_of(documents[1]), "", "one --config for each");
      } else if (!documents.empty()) {
        read_document(documents.front());
      }
    } catch (const YAML::Exception& error) {
      problem("not valid YAML", place_at(error.mark), error.msg, "");
    } catch (const Error& error) {
      const Diagnostic& first = error.diagnostics().front();
      problem(first.what + " the configuration file", first.where, first.why, first.hint);
    }
    return std::move(file_);
  }

 private:
  void read_document(const YAML::Node& root) {
    if (root.IsNull()) return;
    if (!root.IsMap()) {
      return problem("a configuration file is a mapping from flags to values", place_of(root), "", "");
    }
    for (const auto& item : root) {
      const std::string key = item.first.Scalar();
      if (key == "distributed_type" || key == "compute_environment")
        return refuse_accelerate(item.first, key);
    }
    for (const auto& item : root) read_top_level(item.first, item.second);
  }

  void refuse_accelerate(const YAML::Node& key, const std::string& name) {
    problem("an Accelerate configuration file is planned: not in this build yet", place_of(key),
            "recognised by its key '" + name + '\'', "hftrain flags such as --nproc_per_node N and --bf16");
  }

  void read_top_level(const YAML::Node& key, const YAML::Node& value) {
    const std::string& name = key.Scalar();
    if (name == "env" && value.IsMap()) return read_environment(value);
    if (value.IsMap() && flag_table().group(name) != nullptr) {
      for (const auto& item : value) read_key(item.first, item.second);
      return;
    }
    read_key(key, value);
  }

  void read_key(const YAML::Node& key, const YAML::Node& value) {
    if (!key.IsScalar()) return problem("a key that is not text", place_of(key), "", "");
    const std::string& name = key.Scalar();
    if (!name.empty() && name.front() == '_') return;  // a comment, as in JSON files
    const FlagMatch match = flag_table().find(name);
    if (!match) return unknown(key);
    if (match.flag->command_line_only) {
      return problem("'" + name + "' cannot stand in a configuration file", place_of(key), "",
                     "--" + name + " on the command line");
    }
    const std::string position = place_of(key);
    const auto [first, fresh] = seen_.emplace(match.flag, position);
    if (!fresh) {
      return problem("'" + name + "' is given twice", position, "first at " + first->second,
                     "keep one of the two");
    }
    Given given{.flag = match.flag,
                .spelling = name,
                .written = nullptr,
                .origin = place_of(value),
                .layer = layer_,
                .places = {}};
    given.written = written(value, "", 0, given.places);
    if (match.negated) {
      return problem("'" + name + "' is a flag of the command line only", position, "",
                     std::string(match.flag->name) + ": false");
    }
    file_.given.push_back(std::move(given));
  }

  void unknown(const YAML::Node& key) {
    const std::string& name = key.Scalar();
    std::string hint = did_you_mean(nearest_names(name, flag_table().spellings()));
    if (name == "<<") hint = "merge keys are not supported: write the values out";
    if (hint.empty()) hint = "`hftrain --help-all` lists every flag";
    problem("unknown key '" + name + '\'', place_of(key), "", std::move(hint));
  }

  void read_environment(const YAML::Node& variables) {
    for (const auto& item : variables) {
      if (!item.second.IsScalar()) {
        problem("env: '" + item.first.Scalar() + "' is not one text", place_of(item.second), "", "");
        continue;
      }
      if (!file_.environment.emplace(item.first.Scalar(), item.second.Scalar()).second) {
        problem("env: '" + item.first.Scalar() + "' is given twice", place_of(item.first), "",
                "keep one of the two");
      }
    }
  }

  Json written(const YAML::Node& node, const std::string& pointer, int depth,
               std::map<std::string, std::string>& places) {
    if (depth > kDeepest || ++values_ > kLargest) {
      problem("the configuration is nested too deeply or refers to itself", place_of(node), "", "");
      return nullptr;
    }
    places[pointer] = place_of(node);
    if (node.IsSequence()) {
      Json list = Json::array();
      for (size_t i = 0; i < node.size(); ++i) {
        list.push_back(written(node[i], pointer + '/' + std::to_string(i), depth + 1, places));
      }
      return list;
    }
    if (!node.IsMap()) return node.IsScalar() ? Json(node.Scalar()) : Json(nullptr);
    Json mapping = Json::object();
    for (const auto& item : node) {
      const std::string& name = item.first.Scalar();
      if (mapping.contains(name)) {
        problem("key '" + name + "' is given twice", place_of(item.first),
                "first at " + places[pointer + '/' + name], "keep one of the two");
      }
      mapping[name] = written(item.second, pointer + '/' + name, depth + 1, places);
    }
    return mapping;
  }

  std::string place_at(const YAML::Mark& mark) const {
    if (mark.is_null()) return path_;
    return path_ + ':' + std::to_string(mark.line + 1) + ':' + std::to_string(mark.column + 1);
  }
  std::string place_of(const YAML::Node& node) const { return place_at(node.Mark()); }

  void problem(std::string what, std::string where, std::string why, std::string hint) {
    problems_.push_back(
        {.what = std::move(what), .where = std::move(where), .why = std::move(why), .hint = std::move(hint)});
  }

  const std::string path_;
  const int layer_;
  Diagnostics& problems_;
  ConfigFile file_;
  std::map<const Flag*, std::string> seen_;
  int values_ = 0;
};

}  // namespace

ConfigFile read_config_file(const std::string& path, int layer, Diagnostics& problems) {
  return Reader(path, layer, problems).read();
}

}  // namespace hftrain::arguments
