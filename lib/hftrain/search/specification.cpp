#include "hftrain/search/specification.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <variant>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/metric_name.h"
#include "hftrain/arguments/suggestions.h"
#include "hftrain/arguments/value.h"
#include "hftrain/arguments/yaml_json.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::search {
namespace {

constexpr std::array<std::pair<const char*, Method>, 4> kMethods = {
    {{"grid", Method::kGrid}, {"random", Method::kRandom}, {"tpe", Method::kTpe}, {"asha", Method::kAsha}}};
const std::set<std::string> kKeys = {"space",    "method", "trials", "metric", "greater_is_better",
                                     "parallel", "seed"};
const std::set<std::string> kRangeKeys = {"low", "high", "log", "step"};
// Beside those of the command line alone.
struct Unsearched {
  std::string_view flag;
  const char* why;
};
constexpr const char* kNotPushed = "trials are not pushed to the Hub, and what is drawn is written down";
constexpr Unsearched kUnsearched[] = {
    {"output_dir", "a search sets it for every trial"},
    {"overwrite_output_dir", "a trial that was interrupted goes on by itself"},
    {"resume_from_checkpoint", "a trial that was interrupted goes on by itself"},
    {"push_to_hub", "it would push trials to the Hub"},
    {"hub_token", kNotPushed},
    {"push_to_hub_token", kNotPushed},
    {"token", kNotPushed},
    {"use_auth_token", kNotPushed},
    {"hub_model_id", kNotPushed},
    {"push_to_hub_model_id", kNotPushed},
    {"push_to_hub_organization", kNotPushed},
    {"hub_strategy", kNotPushed},
    {"hub_revision", kNotPushed},
    {"hub_private_repo", kNotPushed},
    {"hub_always_push", kNotPushed},
    {"smoke", "a trial trains"}};
constexpr int kMostTrials = 100'000, kUsualTrials = 20;

// Reads members of a mapping and gathers what is wrong with them, by JSON pointers. Scalars come as texts.
class Reader {
 public:
  Reader(std::string file, std::map<std::string, std::string> places)
      : file_(std::move(file)), places_(std::move(places)) {}

  void wrong(const std::string& pointer, const std::string& what, const std::string& why,
             const std::string& hint) {
    Diagnostic problem;
    problem.what = what;
    problem.where = place_of(pointer);
    problem.why = why;
    problem.hint = hint;
    problems_.push_back(std::move(problem));
  }
  // "search.yaml:2:3: space.seed"; of what is not there the file's.
  std::string place_of(const std::string& pointer) const {
    const auto found = places_.find(pointer);
    std::string dotted = pointer.substr(std::min<size_t>(pointer.size(), 1));
    std::replace(dotted.begin(), dotted.end(), '/', '.');
    return (found == places_.end() ? file_ : found->second) + (dotted.empty() ? "" : ": " + dotted);
  }
  void check_keys(const Json& mapping, const std::set<std::string>& known, const std::string& pointer) {
    for (const auto& [key, value] : mapping.items()) {
      if (known.contains(key)) continue;
      const std::vector<std::string> all(known.begin(), known.end());
      const std::vector<std::string> near = nearest_names(key, all);
      wrong(pointer + '/' + key, "unknown key '" + key + "'", "known are " + join(all, ", "),
            near.empty() ? "leave it out" : "did you mean " + near.front() + '?');
    }
  }
  // `usual`: what a mistake proposes.
  std::optional<double> number(const Json& mapping, const std::string& key, const std::string& pointer,
                               const std::string& usual = "0.1") {
    if (!mapping.contains(key)) return std::nullopt;
    if (mapping[key].is_string()) {
      const Json value = spelled_by(mapping[key]);
      if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
    }
    wrong(pointer + '/' + key, "'" + word_of(mapping[key]) + "' is no number", "a number stands here",
          key + ": " + usual);
    return std::nullopt;
  }
  std::optional<int> count(const Json& mapping, const std::string& key, int least, int most, int usual) {
    const std::optional<double> value = number(mapping, key, "", std::to_string(usual));
    if (!value) return std::nullopt;
    if (*value >= least && *value <= most && std::floor(*value) == *value) return static_cast<int>(*value);
    wrong('/' + key, "'" + word_of(mapping[key]) + "' is out of range",
          "a whole number from " + std::to_string(least) + " to " + std::to_string(most),
          key + ": " + std::to_string(usual));
    return std::nullopt;
  }
  std::optional<std::string> word(const Json& mapping, const std::string& key) {
    if (!mapping.contains(key)) return std::nullopt;
    if (mapping[key].is_string()) return mapping[key].get<std::string>();
    wrong('/' + key, "'" + word_of(mapping[key]) + "' is no name", "one name stands here", "one of them");
    return std::nullopt;
  }
  std::optional<bool> truth(const Json& mapping, const std::string& key, const std::string& pointer) {
    if (!mapping.contains(key)) return std::nullopt;
    const std::string word = mapping[key].is_string() ? to_lower(mapping[key].get<std::string>()) : "";
    if (word == "true" || word == "yes") return true;
    if (word == "false" || word == "no") return false;
    wrong(pointer + '/' + key, "'" + word_of(mapping[key]) + "' is neither true nor false",
          "a truth value stands here", key + ": true");
    return std::nullopt;
  }

  size_t mistakes() const { return problems_.size(); }
  void finish() const {
    if (!problems_.empty()) throw Error(ExitCode::kUsage, problems_);
  }

 private:
  std::string file_;
  std::map<std::string, std::string> places_;
  std::vector<Diagnostic> problems_;
};

// As a trial's command line has it.
const char* word_of_truth(const arguments::Flag& flag, bool truth) {
  if (truth) return "true";
  if (flag.choice("no") != nullptr) return "no";
  const bool none = flag.slot.type == arguments::Type::kList && flag.choice("none") != nullptr;
  return none ? "none" : "false";
}

// Of a flag that takes other words than numbers a number is one where it is written as it would be printed, and else the text
// that it is in a file, too; of one that takes any text so is a truth value.
Json choice_of(const arguments::Flag* flag, const Json& written) {
  using arguments::Type;
  Json value = spelled_by(written);
  if (flag == nullptr) return value;
  const Type type = flag->slot.type;
  if (type == Type::kBool || type == Type::kInt || type == Type::kFloat) return value;
  const bool any_text = type == Type::kText && !flag->is_choice();
  return word_of(value) == word_of(written) && !(any_text && value.is_boolean()) ? value : written;
}

void read_choices(const Json& written, const std::string& pointer, const arguments::Flag* flag,
                  Parameter& parameter, Reader& reader) {
  reader.check_keys(written, {"choices"}, pointer);
  const Json& choices = written["choices"];
  if (!choices.is_array() || choices.empty()) {
    return reader.wrong(pointer + "/choices", "no list of choices", "at least one value is needed",
                        "choices: [a, b]");
  }
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].is_structured()) {
      reader.wrong(pointer + "/choices/" + std::to_string(i), "a choice is no single value",
                   "a list or mapping stands in the list", "write a mapping as a text: '{\"a\": 1}'");
    } else {
      parameter.choices.push_back(choice_of(flag, choices[i]));
    }
  }
}

void read_range(const Json& written, const std::string& pointer, Parameter& parameter, Reader& reader) {
  reader.check_keys(written, kRangeKeys, pointer);
  const std::optional<double> low = reader.number(written, "low", pointer),
                              high = reader.number(written, "high", pointer),
                              step = reader.number(written, "step", pointer);
  parameter.log = reader.truth(written, "log", pointer).value_or(false);
  if (!written.contains("low") || !written.contains("high")) {
    return reader.wrong(pointer, "neither choices nor a range", "a range has low and high",
                        "{low: 1e-5, high: 1e-2, log: true}, or {choices: [a, b]}");
  }
  if (!low || !high) return;
  parameter.low = *low;
  parameter.high = *high;
  parameter.step = step.value_or(0);
  const auto whole = [](double value) { return std::floor(value) == value; };
  parameter.whole = step && whole(*low) && whole(*high) && whole(*step);
  if (*low > *high)
    reader.wrong(pointer, "low is above high", word_of(*low) + " > " + word_of(*high), "change them round");
  if (step && *step <= 0)
    reader.wrong(pointer + "/step", "a step of nothing", "it has to be above 0", "step: 1");
  if (step && *step > 0 && (*high - *low) / *step > kMostExact) {
    reader.wrong(pointer + "/step", "a step too small for its range", "a range has at most 2^53 steps",
                 "step: " + word_of((*high - *low) / 100));
  }
  if (parameter.whole && std::max(std::abs(*low), std::abs(*high)) > kMostExact) {
    reader.wrong(pointer, "whole numbers too large to be told apart", "they are exact up to 2^53",
                 "a smaller range, or choices");
  }
  if (parameter.log && *low <= 0) {
    reader.wrong(pointer, "a logarithmic range that begins at 0 or below", "low has no logarithm",
                 "low: 1e-6");
  }
}

// What hyperparameter_search of the Trainer searches where nothing else is asked for.
Space default_space() {
  return {{.flag = "learning_rate", .low = 1e-6, .high = 1e-4, .log = true},
          {.flag = "num_train_epochs", .low = 1, .high = 5, .step = 1, .whole = true},
          {.flag = "per_device_train_batch_size", .choices = {4, 8, 16, 32, 64}},
          {.flag = "seed", .low = 1, .high = 40, .step = 1, .whole = true}};
}

// Of a value by itself; what it says beside others is seen where a trial's flags are read.
void check_value(const arguments::Flag& flag, const Json& value, const std::string& pointer, Reader& reader) {
  if (!flag.words_of_file.empty() || flag.support.status == arguments::Support::kRefused) return;
  const Json word = word_of(value);
  const bool list = flag.slot.type == arguments::Type::kList;
  const auto converted = arguments::convert(flag, list ? Json::array({word}) : word, "");
  const auto* const error = std::get_if<arguments::ValueError>(&converted);
  if (error == nullptr) return;
  reader.wrong(pointer, std::string(flag.name) + ": " + error->what, "it takes " + describe_type(flag),
               error->hint.empty() ? "`hftrain explain " + std::string(flag.name) + "` says what it takes"
                                   : error->hint);
}

// A range of one whole number draws that one.
void make_whole(Parameter& parameter) {
  if (parameter.whole || parameter.low != parameter.high || std::floor(parameter.low) != parameter.low)
    return;
  parameter.step = 1;
  parameter.whole = true;
}

void check_values(const arguments::Flag& flag, Parameter& parameter, const std::string& pointer,
                  Reader& reader) {
  for (size_t i = 0; i < parameter.choices.size(); ++i)
    check_value(flag, parameter.choices[i], pointer + "/choices/" + std::to_string(i), reader);
  if (!parameter.choices.empty()) return;
  const bool takes_whole = flag.slot.type == arguments::Type::kInt;
  if (takes_whole) make_whole(parameter);
  if (takes_whole && !parameter.whole) {
    return reader.wrong(pointer, std::string(flag.name) + " takes whole numbers, and a range has others",
                        parameter.step > 0 ? "low, high and step are not all whole numbers"
                                           : "without a step any number between low and high may be drawn",
                        parameter.step > 0 ? "low, high and step in whole numbers"
                                           : "step: 1 beside low and high, for whole numbers alone");
  }
  check_value(flag, parameter.value_at(0), pointer + "/low", reader);
  if (parameter.high != parameter.low) check_value(flag, parameter.value_at(1), pointer + "/high", reader);
}

// The flag of today that an old name stands for with the same values, or its own.
const arguments::Flag& flag_of_today(const arguments::Flag& flag) {
  const arguments::Replacement& became = flag.replaced_by;
  const bool renamed = !became.flag.empty() && became.value.empty() && became.key.empty() && !became.kept;
  return renamed ? arguments::flag_table().named(became.flag) : flag;
}

std::string replaced(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// What decides the same thing has the same one: all names of a flag, whatever they make of their values.
std::string subject_of(const arguments::Flag& flag, const std::string& name) {
  if (flag.pattern) return name;
  const arguments::Replacement& became = flag.replaced_by;
  return std::string(became.flag.empty() || !became.key.empty() ? flag.name : became.flag);
}

const char* why_unsearched(const arguments::Flag& flag) {
  for (const Unsearched& each : kUnsearched)
    if (each.flag == flag.name) return each.why;
  return flag.command_line_only ? "it stands on a command line alone, and is no value of a trial" : nullptr;
}

class SpaceReader {
 public:
  // `written`: the file as it stands, of which `plain` has no quotes.
  SpaceReader(Reader& reader, const Json& written, const arguments::PlainParts& plain)
      : reader_(reader), written_(written), plain_(plain) {}

  Space read(const Json& written) {
    if (!written.is_object() || written.empty()) {
      reader_.wrong("/space", "nothing to search", "space names flags with their choices or ranges",
                    "space: {learning_rate: {low: 1e-5, high: 1e-2, log: true}}");
      return {};
    }
    for (const auto& [name, values] : written.items()) read_flag(name, values);
    return std::move(space_);
  }

 private:
  void read_flag(const std::string& name, const Json& values) {
    const std::string pointer = "/space/" + name;
    const arguments::FlagMatch match = arguments::flag_table().find(name);
    if (!match) {
      reader_.wrong(pointer, "unknown flag '" + name + "'", "a space names flags of hftrain",
                    arguments::hint_for_unknown(name, ""));
    } else if (!may_be_searched(match, name, pointer)) {
      return;
    }
    const arguments::Flag* const flag = match ? &flag_of_today(*match.flag) : nullptr;
    Parameter parameter{.flag = name_in_space(name)};
    if (!read_values(flag != nullptr ? values_of(*flag, name, values) : values, pointer, flag, parameter))
      return;
    if (flag != nullptr) check_values(*flag, parameter, pointer, reader_);
    space_.push_back(std::move(parameter));
  }

  // Choices mean what they do as the value of their flag in a file; ranges are numbers.
  Json values_of(const arguments::Flag& flag, const std::string& name, Json values) const {
    if (!values.is_object() || !values.contains("choices") || !values["choices"].is_array()) return values;
    for (size_t i = 0; i < values["choices"].size(); ++i) {
      const std::string pointer = "/space/" + name + "/choices/" + std::to_string(i);
      const arguments::PlainParts whole =
          plain_.contains(pointer) ? arguments::PlainParts{""} : arguments::PlainParts{};
      const Json meant =
          arguments::meant_in_yaml(flag, written_.at("space").at(name).at("choices").at(i), whole);
      values["choices"][i] = meant.is_boolean() ? Json(word_of_truth(flag, meant.get<bool>())) : meant;
    }
    return values;
  }

  bool may_be_searched(const arguments::FlagMatch& match, const std::string& name,
                       const std::string& pointer) {
    const std::string flag(match.flag->name);
    if (match.negated) {
      reader_.wrong(pointer, "'" + name + "' is a word of the command line only", "a flag has values here",
                    flag + ": {choices: [true, false]}");
      return false;
    }
    if (const char* const why = why_unsearched(*match.flag)) {
      reader_.wrong(pointer, name + " is not searched", why, "leave it out");
      return false;
    }
    const auto [first, fresh] = named_.emplace(subject_of(*match.flag, replaced(name)), name);
    if (fresh) return true;
    reader_.wrong(pointer, "'" + first->second + "' and '" + name + "' are names of one flag",
                  "of two values only one would count", "keep one of the two");
    return false;
  }

  // Whether `parameter` can be drawn from.
  bool read_values(const Json& values, const std::string& pointer, const arguments::Flag* flag,
                   Parameter& parameter) {
    const size_t before = reader_.mistakes();
    if (!values.is_object()) {
      reader_.wrong(pointer, "no mapping", "a flag has choices, or low and high", "{choices: [a, b]}");
    } else if (values.contains("choices")) {
      read_choices(values, pointer, flag, parameter, reader_);
    } else {
      read_range(values, pointer, parameter, reader_);
    }
    return reader_.mistakes() == before;
  }

  Reader& reader_;
  const Json& written_;
  const arguments::PlainParts& plain_;
  Space space_;
  std::map<std::string, std::string> named_;  // what is decided -> by which name
};

void read_method(const Json& written, Specification& specification, Reader& reader) {
  if (!written.contains("method")) return;
  const std::string word = word_of(written["method"]);
  const auto* const found = std::find_if(kMethods.begin(), kMethods.end(),
                                         [&](const auto& method) { return word == method.first; });
  if (found == kMethods.end()) {
    return reader.wrong("/method", "unknown method '" + word + "'", "there are grid, random, tpe and asha",
                        "method: tpe");
  }
  specification.method = found->second;
}

// As metric_for_best_model; what the end of training logs keeps its name.
std::string metric_of(const std::string& written) {
  return written.starts_with("train_") ? written : arguments::metric_in_log(written);
}

void check_grid(const Specification& specification, Reader& reader) {
  double points = 1;
  for (const Parameter& parameter : specification.space) {
    points *= static_cast<double>(parameter.count());
    if (parameter.count() > 0) continue;
    reader.wrong("/space/" + parameter.flag, "a grid has no points between low and high",
                 "the range has no step", "step: …, or {choices: [...]}");
  }
  if (points > kMostTrials) {
    reader.wrong("/space", "the grid has too many points",
                 "a search has at most " + std::to_string(kMostTrials) + " trials",
                 "fewer choices, or method: random");
  }
}

}  // namespace

bool is_search_key(const std::string& name) {
  return kKeys.contains(name);
}

bool training_logs(const std::string& metric) {
  const std::string name = metric.starts_with("eval_") ? metric.substr(5) : metric;
  static const std::set<std::string> kNames = {"grad_norm", "learning_rate", "num_input_tokens_seen",
                                               "total_flos"};
  return name.starts_with("train_") || kNames.contains(name) || name.find("_mem_") != std::string::npos;
}

const char* method_name(Method method) {
  for (const auto& [name, each] : kMethods) {
    if (each == method) return name;
  }
  return "?";
}

std::string name_in_space(const std::string& name) {
  const arguments::FlagMatch match = arguments::flag_table().find(name);
  if (!match) return replaced(name);
  const arguments::Flag& flag = flag_of_today(*match.flag);
  return flag.pattern ? replaced(name) : std::string(flag.name);
}

Json Specification::identity() const {
  Json parameters = Json::object();
  for (const Parameter& parameter : space) {
    parameters[parameter.flag] = parameter.choices.empty() ? Json{{"low", parameter.low},
                                                                  {"high", parameter.high},
                                                                  {"log", parameter.log},
                                                                  {"step", parameter.step}}
                                                           : Json{{"choices", parameter.choices}};
  }
  return {{"method", method_name(method)},
          {"metric", metric},
          {"greater_is_better", greater_is_better},
          {"seed", seed},
          {"space", std::move(parameters)}};
}

size_t Specification::trial_count() const {
  const size_t most = trials > 0 ? static_cast<size_t>(trials) : std::numeric_limits<size_t>::max();
  if (method != Method::kGrid) return most;
  size_t points = 1;
  for (const Parameter& parameter : space) {
    const size_t values = std::max<size_t>(1, parameter.count());
    if (points >= most / values) return most;
    points *= values;
  }
  return std::min(points, most);
}

Specification read_specification(const std::string& text, const std::string& name) {
  std::map<std::string, std::string> places;
  arguments::PlainParts plain;
  const Json as_it_stands = arguments::yaml_as_json(text, name, ExitCode::kUsage, &places, &plain);
  const Json written = arguments::parts_meant_in_yaml(as_it_stands, plain);
  Reader reader(name, std::move(places));
  Specification specification;
  if (!written.is_object()) {
    reader.wrong("", "no mapping", "a search is keys with their values",
                 "space: {learning_rate: {low: 1e-5, high: 1e-2}}");
    reader.finish();
  }
  reader.check_keys(written, kKeys, "");
  specification.writes_space = written.contains("space");
  specification.space = specification.writes_space
                            ? SpaceReader(reader, as_it_stands, plain).read(written["space"])
                            : default_space();
  read_method(written, specification, reader);
  const bool grid = specification.method == Method::kGrid;
  specification.trials =
      reader.count(written, "trials", 1, kMostTrials, kUsualTrials).value_or(grid ? 0 : kUsualTrials);
  if (const auto metric = reader.word(written, "metric")) specification.metric = metric_of(*metric);
  // The Trainer's rule for metric_for_best_model.
  specification.greater_is_better =
      reader.truth(written, "greater_is_better", "").value_or(!specification.metric.ends_with("loss"));
  // How many there is room for depends on the machine.
  specification.parallel = reader.count(written, "parallel", 1, 1024, 1).value_or(1);
  constexpr int kUsualSeed = 42, kMostSeed = std::numeric_limits<int>::max();
  specification.seed =
      static_cast<uint64_t>(reader.count(written, "seed", 0, kMostSeed, kUsualSeed).value_or(kUsualSeed));
  if (grid) check_grid(specification, reader);
  reader.finish();
  return specification;
}

}  // namespace hftrain::search
