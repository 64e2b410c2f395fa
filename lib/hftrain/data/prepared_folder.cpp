#include "hftrain/data/prepared_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/base/json_member.h"
#include "hftrain/base/text.h"
#include "hftrain/data/data_files.h"
#include "hftrain/data/file_hashes.h"
#include "hftrain/data/token_cache.h"

namespace hftrain::data {
namespace {

constexpr const char* kRecipe = "recipe";  // of the record

std::string files_of_tokenizer(const PrepareRequest& request) {
  return hash_bytes(
      key_of_tokenizer(request.tokenizer_folder, FileHashes(request.cache_folder + "/hashes")).dump());
}

// Equal for tokenizers whose ids stand for the same texts, however their files are written.
std::string vocabulary_of(const tokenizer::Tokenizer& tokenizer) {
  Hasher hasher;
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const auto token = static_cast<tokenizer::TokenId>(id);
    hasher.update(tokenizer.decode({&token, 1}, false) + '\0');
  }
  return hasher.hex();
}

// Of a pattern that nothing has the name of, itself: that there is nothing is told where files are looked for.
std::vector<std::string> paths_of_patterns(const std::vector<std::string>& patterns) {
  std::vector<std::string> paths;
  for (const std::string& pattern : patterns) {
    const std::vector<std::string> found = paths_of_pattern(pattern);
    paths.insert(paths.end(), found.begin(), found.end());
    if (found.empty()) paths.push_back(pattern);
  }
  return paths;
}

bool has_other_vocabulary(const Json& recipe, const PrepareRequest& request,
                          const TokenizerLoader& load_tokenizer) {
  const Json made = json_member(recipe, "tokenizer");
  if (!made.is_object() || request.tokenizer_folder.empty() || !load_tokenizer) return false;
  return json_member(made, "files") != files_of_tokenizer(request) &&
         json_member(made, "vocabulary") != vocabulary_of(*load_tokenizer());
}

Error other_vocabulary(const std::string& folder, const PrepareRequest& request, const Json& record) {
  const Json made = json_member(record, "tokenizer");
  return Error(ExitCode::kData, "the prepared folder was made with another tokenizer")
      .where(folder)
      .why("its ids stand for other texts than those of " + request.tokenizer_folder)
      .hint(made.is_string() && !made.get<std::string>().empty()
                ? "--tokenizer_name " + made.get<std::string>() + ", or prepare the rows with this one"
                : "name the tokenizer that it was made with, or prepare the rows with this one");
}

std::string in_short(const Json& value) {
  constexpr size_t kMost = 60;
  const std::string text = value.is_null() ? "nothing" : value.dump(-1, ' ', /*ensure_ascii=*/true);
  return text.size() > kMost ? text.substr(0, kMost) + "…" : text;
}

// What of two records decides samples and differs, in words. `facts`: what the survey of the folder's rows found.
std::vector<std::string> differences(const Json& made, const Json& wanted, const Json& facts) {
  std::vector<std::string> found;
  const auto compare = [&](const std::string& name, const Json& before, const Json& now) {
    if (before == now) return;
    if (before.is_object() && now.is_object()) {  // what is in them that differs
      for (const auto& [key, value] : now.items()) {
        if (json_member(before, key) != value) found.push_back(name + '.' + key);
      }
    }
    if (found.empty() || !found.back().starts_with(name + '.'))
      found.push_back(name + " (" + in_short(before) + ", here " + in_short(now) + ")");
  };
  compare("task", json_member(made, "task"), json_member(wanted, "task"));
  if (!found.empty()) return found;  // whose options are others
  std::set<std::string> names;
  for (const Json& record : {json_member(made, "options"), json_member(wanted, "options")}) {
    for (const auto& [name, value] : record.items()) names.insert(name);
  }
  // Of images these choose which rows are held out, or are the first.
  const bool chooses =
      !json_member(made, "held_out_percent").is_null() || json_member(made, "limits") != Json::object();
  if (!chooses) {
    names.erase("seed");
    names.erase("train_val_split");
  }
  for (const std::string& name : names)
    compare(name, json_member(json_member(made, "options"), name),
            json_member(json_member(wanted, "options"), name));
  for (const char* name : {"block_size", "keep_linebreaks"})
    compare(name, json_member(made, name), json_member(wanted, name));
  // A run that trains looks for the labels in the rows; one that does not has the model's.
  if (const Json known = json_member(wanted, "facts"); !known.is_null()) compare("labels", facts, known);
  return found;
}

struct Asked {
  const char* name;
  const std::vector<std::string>* files;
  std::optional<PreparedSplit> PreparedData::*member;
  const std::optional<int64_t>* limit;
  const char* limit_flag;
  bool wanted;
};

std::vector<Asked> asked_of(const PrepareRequest& request) {
  const bool holds_out = request.hold_out_percent.has_value();
  return {
      {"train", &request.train_files, &PreparedData::train, &request.max_train_samples, "--max_train_samples",
       !request.train_files.empty() && request.training_split},
      {"validation", holds_out ? &request.train_files : &request.validation_files, &PreparedData::validation,
       &request.max_eval_samples, "--max_eval_samples", holds_out || !request.validation_files.empty()},
      {"test", &request.test_files, &PreparedData::test, &request.max_predict_samples,
       "--max_predict_samples", !request.test_files.empty()},
      {"validation_mismatched", &request.validation_mismatched_files, &PreparedData::validation_mismatched,
       &request.max_eval_samples, "--max_eval_samples", !request.validation_mismatched_files.empty()},
      {"test_mismatched", &request.test_mismatched_files, &PreparedData::test_mismatched,
       &request.max_predict_samples, "--max_predict_samples", !request.test_mismatched_files.empty()}};
}

// A limit counts rows, of which the folder's samples may be several or parts.
void check_limit(const Asked& asked, const PreparedSplit& split, const Json& recipe,
                 const std::string& folder) {
  const std::optional<int64_t>& limit = *asked.limit;
  const Json made = json_member(json_member(recipe, "limits"), asked.name);
  const bool fits =
      limit ? made == Json(*limit) || (made.is_null() && *limit >= split.samples) : made.is_null();
  if (fits) return;
  throw Error(ExitCode::kUsage, "the prepared folder has another number of " + std::string(asked.name) +
                                    " samples than are asked for")
      .where(asked.limit_flag)
      .why(folder + " has " + with_thousands(split.samples) +
           (made.is_null() ? " of all rows" : ", of the first " + made.dump() + " rows") +
           ", and this run wants " + (limit ? "the first " + with_thousands(*limit) : "all"))
      .hint("prepare it with the same limit, or give this run that of the folder");
}

PreparedData read_whole(const std::string& folder) {
  std::optional<PreparedData> data = TokenCache::read(folder);
  if (data) return *std::move(data);
  throw Error(ExitCode::kData, "the prepared folder is damaged")
      .where(folder + '/' + kCacheRecord)
      .why("a file that it names is missing or has another size, or another version of hftrain wrote it")
      .hint("prepare its rows again, or copy it whole");
}

}  // namespace

Json recipe_record(const PrepareRequest& request, const std::vector<SplitRequest>& splits,
                   const tokenizer::Tokenizer* tokenizer) {
  Json record = {{"task", request.recipe.task},
                 {"options", request.recipe.options},
                 {"facts", request.recipe.facts},
                 {"block_size", packs(request) ? Json(request.block_size) : Json()},
                 {"keep_linebreaks", request.keep_linebreaks},
                 {"limits", Json::object()}};
  for (const SplitRequest& split : splits) {
    if (split.max_samples) record["limits"][name_of(split)] = *split.max_samples;
    if (split.share != RowShare::kAll) record["held_out_percent"] = split.hold_out_percent;
  }
  if (tokenizer != nullptr)
    record["tokenizer"] = {{"files", files_of_tokenizer(request)}, {"vocabulary", vocabulary_of(*tokenizer)}};
  return record;
}

std::optional<std::string> folder_of_samples(const PrepareRequest& request) {
  if (request.recipe.takes_token_files) return std::nullopt;
  std::set<std::string> folders, others;
  for (const Asked& asked : asked_of(request)) {
    for (const std::string& path : paths_of_patterns(*asked.files)) {
      std::error_code error;
      const std::string place = std::filesystem::canonical(path, error).string();
      is_prepared_folder(path) && !error ? folders.insert(place) : others.insert(path);
    }
  }
  if (folders.empty()) return std::nullopt;
  others.insert(std::next(folders.begin()), folders.end());
  if (!others.empty()) {
    throw Error(ExitCode::kUsage, "a prepared folder cannot be mixed with other data")
        .where(*folders.begin())
        .why("its samples are made already, and " + *others.begin() + " is named beside it")
        .hint("prepare all of them together, and name that folder for each split");
  }
  if (request.streams_training) {
    throw Error(ExitCode::kUsage, "samples that are made already are no stream")
        .where("--streaming")
        .why(*folders.begin() + " was written by prepare")
        .hint("leave --streaming out");
  }
  return *folders.begin();
}

PreparedData take_samples(const std::string& folder, const PrepareRequest& request,
                          const TokenizerLoader& load_tokenizer) {
  PreparedData whole = read_whole(std::filesystem::absolute(folder).lexically_normal().string());
  const Json record = record_of(whole.folder), recipe = json_member(record, kRecipe);
  if (!recipe.is_object()) {
    throw Error(ExitCode::kUsage, "an older hftrain has prepared the folder")
        .where(folder)
        .why("nothing in it says with which flags")
        .hint("prepare its rows again, or name the files that it was made of");
  }
  const std::vector<std::string> different =
      differences(recipe, recipe_record(request, {}, nullptr), whole.facts);
  if (!different.empty()) {
    throw Error(ExitCode::kUsage, "the prepared folder holds other samples than this run would make")
        .where(folder)
        .why("they differ in " + join(different, "; "))
        .hint("the flags that it was prepared with, or name the files that it was made of");
  }
  if (has_other_vocabulary(recipe, request, load_tokenizer)) throw other_vocabulary(folder, request, record);
  const Json held_out = json_member(recipe, "held_out_percent");
  if (request.hold_out_percent && held_out.is_number() && held_out != *request.hold_out_percent) {
    throw Error(ExitCode::kUsage, "another share of the rows is held out in the prepared folder")
        .where("--validation_split_percentage")
        .why(folder + " holds out " + held_out.dump() + " %, and this run would " +
             std::to_string(*request.hold_out_percent) + " %")
        .hint("prepare it with that share, or --validation_split_percentage " + held_out.dump());
  }
  PreparedData taken{.folder = whole.folder, .from_cache = true, .facts = whole.facts};
  if (const Json key = json_member(record, "training_key"); key.is_string()) taken.training_key = key;
  for (const Asked& asked : asked_of(request)) {
    if (!asked.wanted) continue;
    taken.*asked.member = whole.*asked.member;
    if (!(taken.*asked.member)) {
      throw Error(ExitCode::kData, std::string("the prepared folder has no ") + asked.name + " data")
          .where(folder)
          .why(std::string("it was prepared without them"))
          .hint("prepare it again with files of that split");
    }
    check_limit(asked, *(taken.*asked.member), recipe, folder);
  }
  return taken;
}

void refuse_other_vocabulary(const PrepareRequest& request, const TokenizerLoader& load_tokenizer) {
  if (!request.recipe.takes_token_files) return;
  for (const Asked& asked : asked_of(request)) {
    if (!asked.wanted) continue;
    for (const std::string& path : paths_of_patterns(*asked.files)) {
      if (!is_prepared_folder(path)) continue;
      const Json record = record_of(path), recipe = json_member(record, kRecipe);
      const bool own =
          json_member(recipe, "task") == request.recipe.task;  // samples of others are refused as such
      if (own && has_other_vocabulary(recipe, request, load_tokenizer))
        throw other_vocabulary(path, request, record);
    }
  }
}

}  // namespace hftrain::data
