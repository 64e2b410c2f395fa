#include "hftrain/search/specification.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>

#include "hftrain/arguments/metric_name.h"
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
const std::set<std::string> kOwnFlags = {"output_dir", "config", "resume_from_checkpoint",
                                         "overwrite_output_dir"};
constexpr int kMostTrials = 100'000;

// Reads members of a mapping and gathers what is wrong with them. Scalars come as texts.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  void wrong(const std::string& place, const std::string& what, const std::string& why,
             const std::string& hint) {
    Diagnostic problem;
    problem.what = what;
    problem.where = file_ + ": " + place;
    problem.why = why;
    problem.hint = hint;
    problems_.push_back(std::move(problem));
  }
  void check_keys(const Json& mapping, const std::set<std::string>& known, const std::string& place) {
    for (const auto& [key, value] : mapping.items()) {
      if (known.contains(key)) continue;
      const std::vector<std::string> all(known.begin(), known.end());
      const std::vector<std::string> near = nearest_names(key, all);
      wrong(place.empty() ? key : place + '.' + key, "unknown key '" + key + "'",
            "known are " + join(all, ", "),
            near.empty() ? "leave it out" : "did you mean " + near.front() + '?');
    }
  }
  std::optional<double> number(const Json& mapping, const char* key, const std::string& place) {
    if (!mapping.contains(key)) return std::nullopt;
    if (mapping[key].is_string()) {
      const Json value = scalar(mapping[key]);
      if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
    }
    wrong(place + key, "'" + word_of(mapping[key]) + "' is no number", "a number stands here",
          std::string(key) + ": 0.1");
    return std::nullopt;
  }
  std::optional<int> count(const Json& mapping, const char* key, int least, int most) {
    const std::optional<double> value = number(mapping, key, "");
    if (!value) return std::nullopt;
    if (*value >= least && *value <= most && std::floor(*value) == *value) return static_cast<int>(*value);
    wrong(key, "'" + word_of(mapping[key]) + "' is out of range",
          "a whole number from " + std::to_string(least) + " to " + std::to_string(most),
          std::string(key) + ": " + std::to_string(std::clamp(20, least, most)));
    return std::nullopt;
  }
  std::optional<std::string> word(const Json& mapping, const char* key) {
    if (!mapping.contains(key)) return std::nullopt;
    if (mapping[key].is_string()) return mapping[key].get<std::string>();
    wrong(key, "'" + word_of(mapping[key]) + "' is no name", "one name stands here", "one of them");
    return std::nullopt;
  }
  std::optional<bool> truth(const Json& mapping, const char* key, const std::string& place) {
    if (!mapping.contains(key)) return std::nullopt;
    const std::string word = mapping[key].is_string() ? to_lower(mapping[key].get<std::string>()) : "";
    if (word == "true" || word == "yes" || word == "on") return true;
    if (word == "false" || word == "no" || word == "off") return false;
    wrong(place + key, "'" + word_of(mapping[key]) + "' is neither true nor false",
          "a truth value stands here", std::string(key) + ": true");
    return std::nullopt;
  }

  // A text as the number or truth value that it spells.
  static Json scalar(const Json& text) {
    if (!text.is_string()) return text;
    const auto& word = text.get_ref<const std::string&>();
    if (word == "true" || word == "false") return word == "true";
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    const bool numeric =
        !word.empty() && *end == '\0' && word.find_first_not_of("0123456789+-.eE") == word.npos;
    if (!numeric) return text;
    const bool whole = word.find_first_of(".eE") == word.npos && std::abs(value) < 1e15;
    return whole ? Json(static_cast<int64_t>(value)) : Json(value);
  }

  void finish() const {
    if (!problems_.empty()) throw Error(ExitCode::kUsage, problems_);
  }

 private:
  std::string file_;
  std::vector<Diagnostic> problems_;
};

void read_choices(const Json& written, const std::string& place, Parameter& parameter, Reader& reader) {
  reader.check_keys(written, {"choices"}, place);
  const Json& choices = written["choices"];
  if (!choices.is_array() || choices.empty()) {
    return reader.wrong(place + ".choices", "no list of choices", "at least one value is needed",
                        "choices: [a, b]");
  }
  for (const Json& choice : choices) {
    if (choice.is_structured()) {
      reader.wrong(place + ".choices", "a choice is no single value", "a list or mapping stands in the list",
                   "write a mapping as a text: '{\"a\": 1}'");
    } else {
      parameter.choices.push_back(Reader::scalar(choice));
    }
  }
}

void read_range(const Json& written, const std::string& place, Parameter& parameter, Reader& reader) {
  reader.check_keys(written, kRangeKeys, place);
  const std::optional<double> low = reader.number(written, "low", place + '.'),
                              high = reader.number(written, "high", place + '.'),
                              step = reader.number(written, "step", place + '.');
  parameter.log = reader.truth(written, "log", place + '.').value_or(false);
  if (!written.contains("low") || !written.contains("high")) {
    return reader.wrong(place, "neither choices nor a range", "a range has low and high",
                        "{low: 1e-5, high: 1e-2, log: true}, or {choices: [a, b]}");
  }
  if (!low || !high) return;
  parameter.low = *low;
  parameter.high = *high;
  parameter.step = step.value_or(0);
  const auto whole = [](double value) { return std::floor(value) == value; };
  parameter.whole = step && whole(*low) && whole(*high) && whole(*step);
  if (*low > *high)
    reader.wrong(place, "low is above high", word_of(*low) + " > " + word_of(*high), "change them round");
  if (step && *step <= 0)
    reader.wrong(place + ".step", "a step of nothing", "it has to be above 0", "step: 1");
  if (step && *step > 0 && (*high - *low) / *step > kMostExact) {
    reader.wrong(place + ".step", "a step too small for its range", "a range has at most 2^53 steps",
                 "step: " + word_of((*high - *low) / 100));
  }
  if (parameter.whole && std::max(std::abs(*low), std::abs(*high)) > kMostExact) {
    reader.wrong(place, "whole numbers too large to be told apart", "they are exact up to 2^53",
                 "a smaller range, or choices");
  }
  if (parameter.log && *low <= 0) {
    reader.wrong(place, "a logarithmic range that begins at 0 or below", "low has no logarithm", "low: 1e-6");
  }
}

// What hyperparameter_search of the Trainer searches where nothing else is asked for.
Space default_space() {
  return {{.flag = "learning_rate", .low = 1e-6, .high = 1e-4, .log = true},
          {.flag = "num_train_epochs", .low = 1, .high = 5, .step = 1, .whole = true},
          {.flag = "per_device_train_batch_size", .choices = {4, 8, 16, 32, 64}},
          {.flag = "seed", .low = 1, .high = 40, .step = 1, .whole = true}};
}

Space read_space(const Json& written, Reader& reader) {
  Space space;
  if (!written.is_object() || written.empty()) {
    reader.wrong("space", "nothing to search", "space names flags with their choices or ranges",
                 "space: {learning_rate: {low: 1e-5, high: 1e-2, log: true}}");
    return space;
  }
  for (const auto& [flag, values] : written.items()) {
    const std::string place = "space." + flag;
    Parameter parameter{.flag = flag};
    if (kOwnFlags.contains(flag)) {
      reader.wrong(place, flag + " is not searched", "a search sets it for every trial", "leave it out");
    } else if (!values.is_object()) {
      reader.wrong(place, "no mapping", "a flag has choices, or low and high", "{choices: [a, b]}");
    } else if (values.contains("choices")) {
      read_choices(values, place, parameter, reader);
    } else {
      read_range(values, place, parameter, reader);
    }
    space.push_back(std::move(parameter));
  }
  return space;
}

void read_method(const Json& written, Specification& specification, Reader& reader) {
  if (!written.contains("method")) return;
  const std::string word = word_of(written["method"]);
  const auto* const found = std::find_if(kMethods.begin(), kMethods.end(),
                                         [&](const auto& method) { return word == method.first; });
  if (found == kMethods.end()) {
    return reader.wrong("method", "unknown method '" + word + "'", "there are grid, random, tpe and asha",
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
    reader.wrong("space." + parameter.flag, "a grid has no points between low and high",
                 "the range has no step", "step: …, or {choices: [...]}");
  }
  if (points > kMostTrials) {
    reader.wrong("space", "the grid has too many points",
                 "a search has at most " + std::to_string(kMostTrials) + " trials",
                 "fewer choices, or method: random");
  }
}

}  // namespace

const char* method_name(Method method) {
  for (const auto& [name, each] : kMethods) {
    if (each == method) return name;
  }
  return "?";
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

Specification read_specification(const std::string& text, const std::string& name) {
  const Json written = arguments::yaml_as_json(text, name, ExitCode::kUsage);
  Reader reader(name);
  Specification specification;
  if (!written.is_object()) {
    reader.wrong("the file", "no mapping", "a search is keys with their values",
                 "space: {learning_rate: {low: 1e-5, high: 1e-2}}");
    reader.finish();
  }
  reader.check_keys(written, kKeys, "");
  specification.space = written.contains("space") ? read_space(written["space"], reader) : default_space();
  read_method(written, specification, reader);
  const bool grid = specification.method == Method::kGrid;
  specification.trials = reader.count(written, "trials", 1, kMostTrials).value_or(grid ? 0 : 20);
  if (const auto metric = reader.word(written, "metric")) specification.metric = metric_of(*metric);
  // The Trainer's rule for metric_for_best_model.
  specification.greater_is_better =
      reader.truth(written, "greater_is_better", "").value_or(!specification.metric.ends_with("loss"));
  specification.parallel = reader.count(written, "parallel", 1, 1024).value_or(1);
  specification.seed =
      static_cast<uint64_t>(reader.count(written, "seed", 0, std::numeric_limits<int>::max()).value_or(42));
  if (grid) check_grid(specification, reader);
  reader.finish();
  return specification;
}

}  // namespace hftrain::search
