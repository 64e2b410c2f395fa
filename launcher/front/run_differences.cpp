#include "launcher/front/run_differences.h"

#include <algorithm>
#include <optional>

#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"
#include "hftrain/data/cache_use.h"
#include "hftrain/data/prepared_key.h"
#include "hftrain/data/split_request.h"
#include "hftrain/plan/identity.h"
#include "launcher/front/data_stage.h"

namespace hftrain::front {
namespace {

constexpr size_t kMostKeys = 4;

std::optional<Json> readable(const std::string& path) {
  std::optional<Json> json = path_exists(path) ? try_parse_json(read_file(path)) : std::nullopt;
  return json && json->is_object() ? json : std::nullopt;
}

// A list of labels may be long. What is not ASCII is escaped: a text is cut anywhere.
std::string shown(const Json& value) {
  constexpr size_t kLongest = 60;
  const std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "…";
}

std::string there_and_here(const std::string& there, const std::string& here) {
  return there + " there, " + here + " here";
}

// "n_head 2 there, 4 here; …"; empty: nothing of it is known.
std::string model_words(const std::string& folder, const Json& present) {
  const std::optional<Json> saved = readable(folder + "/config.json");
  if (!saved) return "";
  std::vector<std::string> words;
  for (const auto& [key, value] : present.items()) {
    const Json other = saved->value(key, Json());
    if (key != "transformers_version" && key != "_name_or_path" && other != value)
      words.push_back(key + ' ' + there_and_here(shown(other), shown(value)));
  }
  if (words.size() > kMostKeys) {
    const size_t more = words.size() - kMostKeys;
    words.resize(kMostKeys);
    words.push_back(std::to_string(more) + " more");
  }
  return join(words, "; ");
}

struct Origin {
  std::string files, tokenizer;  // empty: nobody knows
};

Origin origin_of(const Json& record) {
  std::vector<std::string> files;
  for (const Json& source : record.value("sources", Json::array())) {
    if (source.is_string()) files.push_back(printable(source.get<std::string>()));
  }
  const Json tokenizer = record.value("tokenizer", Json());
  return {join(files, ", "), tokenizer.is_string() ? printable(tokenizer.get<std::string>()) : ""};
}

std::string data_words(const Inputs& inputs, const Json& saved, const plan::RunPlan& plan) {
  if (!plan.data.train || plan.data.stream || !saved.is_string()) return "";
  const data::PrepareRequest request = prepare_request(inputs);
  const std::optional<Json> record =
      readable(request.cache_folder + "/tokens/" + saved.get<std::string>() + '/' + data::kCacheRecord);
  const Origin there = origin_of(record.value_or(Json::object()));
  const Origin here = origin_of(data::made_from(request, data::splits_of(request)));
  if (there.files.empty() || here.files.empty()) return "";
  // Of files with one content the first that was prepared is told.
  if (there.files != here.files)
    return there_and_here(there.files, here.files) + ", or prepared by other flags";
  if (there.tokenizer != here.tokenizer)
    return "tokenizer " + there_and_here(there.tokenizer, here.tokenizer);
  return here.files + " there and here, with other content, or prepared by other flags";
}

}  // namespace

std::vector<std::string> run_differences(const Inputs& inputs, const std::string& folder,
                                         const storage::Manifest& manifest, const plan::RunPlan& plan) {
  Json present = plan::run_identity(plan);
  const bool prepared = !plan.data.train || plan.data.train->exact || plan.data.stream;
  if (!prepared) present.erase("data");
  std::vector<std::string> lines = plan::identity_differences(manifest.identity, present);
  for (std::string& line : lines) {
    const std::string name = line.substr(0, line.find(':'));
    const bool of_data = name == "data" || name == "training_data";
    const std::string words = name == "model" ? model_words(folder, plan.model.config)
                              : of_data ? data_words(inputs, manifest.identity.value("data", Json()), plan)
                                        : "";
    if (!words.empty()) line = name + ": " + words;
  }
  return lines;
}

}  // namespace hftrain::front
