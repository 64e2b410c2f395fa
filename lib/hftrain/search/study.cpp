#include "hftrain/search/study.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json_words.h"
#include "hftrain/base/regular_file.h"
#include "hftrain/base/text.h"
#include "hftrain/search/sampler.h"

namespace hftrain::search {
namespace {

constexpr std::array<std::pair<TrialState, const char*>, 4> kStates = {{{TrialState::kRunning, "running"},
                                                                        {TrialState::kComplete, "complete"},
                                                                        {TrialState::kPruned, "pruned"},
                                                                        {TrialState::kFailed, "failed"}}};

Json to_json_value(const Trial& trial) {
  Json value = {{"number", trial.number},
                {"parameters", trial.parameters},
                {"state", trial_state_name(trial.state)},
                {"metric", trial.metric ? Json(*trial.metric) : Json()},
                {"folder", trial.folder}};
  if (trial.exit_code) value["exit_code"] = *trial.exit_code;
  return value;
}

Error damaged(const std::string& path, const std::string& why) {
  return Error(ExitCode::kData, "search.json is damaged")
      .where(path)
      .why(why)
      .hint("search in another --output_dir");
}

// The name of the space for one that was written: a share of warmup was kept as warmup_steps once.
std::string name_of_space(const std::string& written, const std::vector<Parameter>& space) {
  const std::string name = name_in_space(written);
  for (const Parameter& parameter : space) {
    const arguments::FlagMatch match = arguments::flag_table().find(parameter.flag);
    if (match.flag != nullptr && match.flag->replaced_by.kept && match.flag->replaced_by.flag == name)
      return parameter.flag;
  }
  return name;
}

// Searches recorded by older versions hold names as the user spelled them.
Json by_names_of_space(const Json& written, const std::vector<Parameter>& space) {
  if (!written.is_object()) return written;
  Json named = Json::object();
  for (const auto& [name, value] : written.items()) named[name_of_space(name, space)] = value;
  return named;
}

Json with_names_of_space(Json search, const std::vector<Parameter>& space) {
  if (search.is_object() && search.contains("space"))
    search["space"] = by_names_of_space(search["space"], space);
  return search;
}

// Texts of choices that spell numbers were those once. Its trials have these, and a search that began with them goes on with them.
void take_choices_of(const Json& search, std::vector<Parameter>& space) {
  for (Parameter& parameter : space) {
    const Json::json_pointer place = Json::json_pointer("/space") / parameter.flag / "choices";
    if (!search.is_object() || !search.contains(place)) continue;
    const auto meant = [](const Json& before, const Json& now) {
      return before == now || before == spelled_by(now);
    };
    const Json& choices = search.at(place);
    if (std::equal(choices.begin(), choices.end(), parameter.choices.begin(), parameter.choices.end(), meant))
      parameter.choices.assign(choices.begin(), choices.end());
  }
}

Trial read_trial(const Json& written, int number, const std::vector<Parameter>& space,
                 const std::string& path) {
  Trial trial;
  try {
    const std::string state = written.at("state");
    const auto* const found =
        std::find_if(kStates.begin(), kStates.end(), [&](const auto& each) { return state == each.second; });
    if (found == kStates.end()) throw damaged(path, "a trial is in the state " + state);
    trial.state = found->first;
    trial.number = written.at("number").get<int>();
    trial.parameters = by_names_of_space(written.at("parameters"), space);
    trial.folder = written.at("folder").get<std::string>();
    if (written.at("metric").is_number()) trial.metric = written.at("metric").get<double>();
    if (written.contains("exit_code")) trial.exit_code = written.at("exit_code").get<int>();
  } catch (const Json::exception& error) {
    throw damaged(path, words_of(error));
  }
  if (trial.number != number || !trial.parameters.is_object())
    throw damaged(path, "a trial is out of its place");
  return trial;
}

// A line per flag: "max_steps: 100 there, its default here".
std::vector<std::string> differing_flags(const Json& saved, const Json& present) {
  std::set<std::string> names;
  for (const Json* flags : {&saved, &present}) {
    for (const auto& [name, value] : flags->items()) names.insert(name);
  }
  const auto shown = [](const Json& flags, const std::string& name) {
    return flags.contains(name) ? dump_json(flags[name], -1) : "its default";
  };
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    const std::string there = shown(saved, name), here = shown(present, name);
    if (there != here) lines.push_back(name + ": " + there + " there, " + here + " here");
  }
  return lines;
}

// Trials with other flags are no trials of one search: the best of them would be that of its flags.
void require_same_flags(const Json& saved, const Json& present, const std::string& path,
                        Json (*compared)(Json)) {
  if (!saved.is_object()) throw damaged(path, "its flags are no mapping");
  const std::vector<std::string> different =
      differing_flags(compared == nullptr ? saved : compared(saved), present);
  if (different.empty()) return;
  throw Error(ExitCode::kUsage, "the search in this folder began with other flags")
      .where(path)
      .why(join(different, "; "))
      .hint("another --output_dir, or the flags that this search began with");
}

std::optional<int> read_world_size(const Json& written, const std::string& path) {
  if (!written.contains("world_size")) return std::nullopt;
  const Json& size = written["world_size"];
  if (!size.is_number_integer() || size < 1) throw damaged(path, "its world_size is no number of ranks");
  return size.get<int>();
}

}  // namespace

const char* trial_state_name(TrialState state) {
  for (const auto& [each, name] : kStates) {
    if (each == state) return name;
  }
  return "?";
}

Study::Study(Specification specification, std::string folder, Json flags, Json (*compared)(Json))
    : specification_(std::move(specification)), folder_(std::move(folder)), flags_(std::move(flags)) {
  load(compared);
}

void Study::load(Json (*compared)(Json)) {
  const std::string path = folder_ + "/search.json";
  if (!has_regular_file(path, "the search")) return;
  const Json written = read_json_file(path, static_cast<int>(ExitCode::kData));
  if (!written.is_object() || !written.contains("trials") || !written["trials"].is_array())
    throw damaged(path, "it holds no trials");
  const Json search = with_names_of_space(written.value("search", Json()), specification_.space);
  take_choices_of(search, specification_.space);
  if (search != specification_.identity()) {
    throw Error(ExitCode::kUsage, "another search is in this folder")
        .where(path)
        .why("method, metric, seed or space are not those of --search")
        .hint("another --output_dir, or the file that this search began with");
  }
  if (written.contains("flags")) require_same_flags(written["flags"], flags_, path, compared);
  world_size_ = read_world_size(written, path);
  for (const Json& trial : written["trials"])
    trials_.push_back(read_trial(trial, static_cast<int>(trials_.size()), specification_.space, path));
  for (Trial& trial : trials_) trial.folder = folder_of(trial.number);  // wherever the search was moved
}

void Study::save() const {
  write_file_atomically(folder_ + "/search.json", dump_json(document()) + '\n');
}

std::vector<int> Study::interrupted() const {
  std::vector<int> numbers;
  for (const Trial& trial : trials_) {
    if (trial.state == TrialState::kRunning) numbers.push_back(trial.number);
  }
  return numbers;
}

std::optional<Json> Study::next_parameters() const {
  const int number = static_cast<int>(trials_.size());
  if (specification_.trials > 0 && number >= specification_.trials) return std::nullopt;
  return draw(specification_, number, trials_);
}

std::string Study::differences(const Json& flags) const {
  return join(differing_flags(flags_, flags), "; ");
}

std::optional<int> Study::begin() {
  const int number = static_cast<int>(trials_.size());
  std::optional<Json> parameters = next_parameters();
  if (!parameters) return std::nullopt;
  trials_.push_back({.number = number,
                     .parameters = std::move(*parameters),
                     .state = TrialState::kRunning,
                     .metric = std::nullopt,
                     .exit_code = std::nullopt,
                     .folder = folder_of(number)});
  save();
  return number;
}

void Study::require_world_size(int number, int world_size) {
  if (!world_size_) {
    world_size_ = world_size;
    save();
  }
  if (*world_size_ == world_size) return;
  throw Error(ExitCode::kUsage,
              "trial " + std::to_string(number) + " has another number of ranks than this search")
      .where(folder_ + "/search.json")
      .why("world_size is " + std::to_string(*world_size_) + " there, and " + std::to_string(world_size) +
           " of this trial: an update would see other batches")
      .hint(
          "as many machines and GPUs for a trial as before (host file, CUDA_VISIBLE_DEVICES, --gpu_ids, "
          "parallel), or another "
          "--output_dir");
}

void Study::end(int number, TrialState state, std::optional<double> metric, std::optional<int> exit_code) {
  Trial& trial = trials_.at(static_cast<size_t>(number));
  trial.metric = metric && std::isfinite(*metric) ? metric : std::nullopt;
  trial.state = state == TrialState::kComplete && !trial.metric ? TrialState::kFailed : state;
  if (trial.state == TrialState::kFailed) trial.exit_code = exit_code;
  save();
}

const Trial* Study::best() const {
  const Trial* best = nullptr;
  for (const Trial& trial : trials_) {
    if (trial.state != TrialState::kComplete) continue;
    const bool better = best == nullptr || (specification_.greater_is_better ? *trial.metric > *best->metric
                                                                             : *trial.metric < *best->metric);
    if (better) best = &trial;
  }
  return best;
}

const Trial* Study::first_failed() const {
  const auto found = std::ranges::find(trials_, TrialState::kFailed, &Trial::state);
  return found == trials_.end() ? nullptr : &*found;
}

Json Study::document() const {
  Json trials = Json::array();
  for (const Trial& trial : trials_) trials.push_back(to_json_value(trial));
  const Trial* const found = best();
  Json document = {{"schema", 1},
                   {"search", specification_.identity()},
                   {"flags", flags_},
                   {"trials", std::move(trials)},
                   {"best", found == nullptr ? Json() : to_json_value(*found)}};
  if (world_size_) document["world_size"] = *world_size_;
  return document;
}

std::string table_of(const Study& study) {
  const Trial* const best = study.best();
  std::string text;
  for (const Trial& trial : study.trials()) {
    text += (&trial == best ? "* " : "  ") + std::to_string(trial.number) + "  " +
            trial_state_name(trial.state) + "  " + study.specification().metric + ' ' +
            (trial.metric ? word_of(*trial.metric) : "-");
    for (const auto& [flag, value] : trial.parameters.items()) text += "  " + flag + ' ' + word_of(value);
    text += '\n';
  }
  return text;
}

}  // namespace hftrain::search
