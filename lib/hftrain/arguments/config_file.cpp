#include "hftrain/arguments/config_file.h"

#include <algorithm>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/import/accelerate.h"
#include "hftrain/arguments/import/deepspeed_keys.h"
#include "hftrain/arguments/import/file_kind.h"
#include "hftrain/arguments/suggestions.h"
#include "hftrain/arguments/yaml_values.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

// A file with more unknown keys is none of ours, and to look through all flags for each takes long.
constexpr int kMostHints = 50;

bool is_json(const std::string& path) {
  return path.size() > 5 && path.substr(path.size() - 5) == ".json";
}

// What TrainingArguments.to_json_string writes for every token, set or not, so as not to show it. (--print_config, which
// writes YAML, does so for one that is set.)
bool stands_for_token(const std::string& key, const YAML::Node& value) {
  return key.ends_with("_token") && value.IsScalar() && to_lower(value.Scalar()) == '<' + key + '>';
}

bool is_deepspeed_key(const std::string& name) {
  return std::ranges::any_of(deepspeed_keys(), [&](const SectionKey& key) { return key.name == name; });
}

bool gives_away(const std::string& key, std::string_view whose) {
  const FileKind* kind = kind_by_key(key);
  return kind != nullptr && kind->of == whose;
}

// The key that gives a file of DeepSpeed away; undefined when it is none. One of its keys among flags is a mistake
// for which the nearest flag is the better word.
YAML::Node surest_of_deepspeed(const YAML::Node& root) {
  YAML::Node sure(YAML::NodeType::Undefined);
  for (const auto& item : root) {
    const std::string& name = item.first.Scalar();
    if (!sure && gives_away(name, kFileOfDeepSpeed)) sure.reset(item.first);
    const bool flag = flag_table().find(name) || flag_table().group(name) != nullptr;
    if (flag && !is_deepspeed_key(name)) return YAML::Node(YAML::NodeType::Undefined);
  }
  return sure;
}

class ConfigFileReader {
 public:
  ConfigFileReader(const std::string& path, int layer, Diagnostics& problems)
      : path_(path), layer_(layer), problems_(problems), values_(path, problems) {}

  ConfigFile read() {
    try {
      const YAML::Node document = values_.document(read_file(path_, ExitCode::kUsage), is_json(path_));
      if (document.IsDefined()) read_document(document);
    } catch (const YAML::Exception& error) {
      problem("not valid YAML", path_, error.msg, "");
    } catch (const Error& error) {
      const Diagnostic& first = error.diagnostics().front();
      problem(first.what + " the configuration file", path_.empty() ? "--config ''" : first.where, first.why,
              first.hint);
    }
    const auto meant = is_json(path_) ? meant_in_json : meant_in_yaml;
    for (RawArgument& each : file_.raw) each.written = meant(*each.flag, std::move(each.written), each.plain);
    return std::move(file_);
  }

 private:
  void read_document(const YAML::Node& root) {
    if (root.IsNull()) return;
    if (!root.IsMap()) {
      return problem("a configuration file is a mapping from flags to values", place_of(root),
                     root.IsSequence() ? "this is a list" : "this is a text",
                     "lines such as max_steps: 100; a file of data is named by --train_file");
    }
    for (const auto& item : root) {
      if (gives_away(item.first.Scalar(), kFileOfAccelerate)) return read_accelerate(root);
    }
    if (const YAML::Node sure = surest_of_deepspeed(root)) return refuse_deepspeed(sure);
    for (const auto& item : root) read_top_level(item.first, item.second);
  }

  void refuse_deepspeed(const YAML::Node& key) {
    problem(path_ + " is a configuration of DeepSpeed", place_of(key),
            "its keys are DeepSpeed's, and no flags: '" + key.Scalar() + "' is one", "--deepspeed " + path_);
  }

  void read_accelerate(const YAML::Node& root) {
    Section section{.values = {}, .places = {}, .origin = path_};
    PlainParts plain;
    section.values = values_.value(root, "", section.places, plain);
    if (!is_json(path_)) section.values = parts_meant_in_yaml(std::move(section.values), plain);
    file_.raw = accelerate_flags(section, problems_, file_.notes);
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
    if (!key.IsScalar())
      return problem("a key that is not text", place_of(key),
                     key.IsSequence() ? "this is a list"
                     : key.IsMap()    ? "this is a mapping"
                                      : "it is empty",
                     "lines such as max_steps: 100");
    const std::string& name = key.Scalar();
    if (!name.empty() && name.front() == '_') return;  // a comment, as in JSON files
    const FlagMatch match = flag_table().find(name);
    if (!match) return unknown(key, value);
    if (is_json(path_) && stands_for_token(name, value)) {
      if (!match.flag->secret) file_.hidden.emplace(match.flag->name, place_of(value));
      return;
    }
    if (match.flag->command_line_only) {
      return problem("'" + name + "' cannot stand in a configuration file", place_of(key),
                     "it says how this one call goes, or which files it reads",
                     "--" + name + " on the command line");
    }
    const std::string position = place_of(key);
    // A flag that stands for many names is another one under each.
    const auto [first, fresh] =
        seen_.emplace(match.flag->pattern ? name : std::string(match.flag->name), position);
    if (!fresh) {
      return problem("'" + name + "' is given twice", position, "first at " + first->second,
                     "keep one of the two");
    }
    RawArgument raw{.flag = match.flag,
                    .spelling = name,
                    .written = nullptr,
                    .origin = place_of(value),
                    .layer = layer_,
                    .places = {}};
    raw.written = values_.value(value, "", raw.places, raw.plain);
    if (match.negated) {
      return problem("'" + name + "' is a flag of the command line only", position, "",
                     std::string(match.flag->name) + ": false");
    }
    file_.raw.push_back(std::move(raw));
  }

  void unknown(const YAML::Node& key, const YAML::Node& value) {
    const std::string& name = key.Scalar();
    std::string hint;
    if (name == "<<") {
      hint = "merge keys are not supported: write the values out";
    } else if (++unknown_ <= kMostHints) {
      hint = value.IsMap() ? hint_for_group(name) : hint_for_unknown(name, "");
    }
    problem("unknown key '" + name + '\'', place_of(key),
            value.IsMap() ? "there is neither a flag nor a group of flags of that name"
                          : "there is no flag of that name",
            std::move(hint));
  }

  void read_environment(const YAML::Node& variables) {
    for (const auto& item : variables) {
      if (!item.second.IsScalar()) {
        problem("env: '" + item.first.Scalar() + "' is not one text", place_of(item.second),
                "a variable of the environment has one text",
                "a text; '' is an empty one, and without the line it stays as it is");
        continue;
      }
      const std::string name = values_.text_of(item.first);
      if (name.empty() || name.find('=') != std::string::npos) {
        problem("env: '" + name + "' is no name of a variable", place_of(item.first),
                "it is empty or holds a '='", "");
        continue;
      }
      if (!file_.environment.emplace(name, values_.text_of(item.second)).second) {
        problem("env: '" + item.first.Scalar() + "' is given twice", place_of(item.first), "",
                "keep one of the two");
      }
    }
  }

  std::string place_of(const YAML::Node& node) const { return values_.place_of(node); }

  void problem(std::string what, std::string where, std::string why, std::string hint) {
    problems_.push_back(
        {.what = std::move(what), .where = std::move(where), .why = std::move(why), .hint = std::move(hint)});
  }

  const std::string path_;
  const int layer_;
  Diagnostics& problems_;
  ConfigFile file_;
  YamlValues values_;
  std::map<std::string, std::string> seen_;
  int unknown_ = 0;
};

}  // namespace

ConfigFile read_config_file(const std::string& path, int layer, Diagnostics& problems) {
  return ConfigFileReader(path, layer, problems).read();
}

}  // namespace hftrain::arguments
