#include "hftrain/data/prepare.h"

#include <filesystem>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/prepared_folder.h"
#include "hftrain/data/prepared_key.h"
#include "hftrain/data/settled_columns.h"
#include "hftrain/data/source_files.h"
#include "hftrain/data/split_builder.h"
#include "hftrain/data/token_cache.h"

namespace hftrain::data {
namespace {

namespace fs = std::filesystem;

void warn_of_repeated_files(const std::vector<SplitRequest>& splits, const Logger& logger) {
  for (const SplitRequest& split : splits) {
    if (split.share == RowShare::kHeldOut) continue;  // of the training files
    for (const std::string& told : told_of_repeated_files(split.files.paths(), split.split))
      logger.warning(told);
  }
}

// Of rows that were prepared before, too.
void tell_remarks(const PreparedSplit& prepared, Split split, const Logger& logger) {
  for (const std::string& remark : prepared.remarks)
    logger.warning("the " + std::string(long_name(split)) + " data: " + remark);
}

// An entry that was made of token files which are read where they lie names a place where they lay. Its key is of their
// contents, and what lies there may be other by now: the files that were named now count.
PreparedData with_named_files(PreparedData data, const std::vector<SplitRequest>& splits) {
  for (const SplitRequest& split : splits) {
    std::optional<PreparedSplit>& prepared = member_of(data, split);
    if (!prepared || split.files.token_prefixes.empty()) continue;
    const bool own = prepared->cache_path.starts_with(data.folder + '/');
    if (!own) prepared->cache_path = fs::absolute(split.files.token_prefixes.front()).string();
  }
  return data;
}

std::optional<PreparedData> find_made(const TokenCache& cache, const std::string& key,
                                      const std::vector<SplitRequest>& splits) {
  std::optional<PreparedData> found = cache.find(key);
  if (!found) return std::nullopt;
  return with_named_files(std::move(*found), splits);
}

std::optional<PreparedData> with_training_key(std::optional<PreparedData> data, const PrepareRequest& request,
                                              const std::vector<SplitRequest>& splits) {
  if (data) data->training_key = training_key_of(request, splits);
  return data;
}

void warn_of_entry(const TokenCache& cache, const std::string& key, const Logger& logger) {
  const std::optional<std::string> lost = cache.lost_file(key);
  logger.warning("the token cache " + cache.folder_of(key) + (lost ? " has lost " + *lost : " is damaged") +
                 " and is made again");
}

// What prepare() does where there is no entry that it could take.
std::optional<PreparedData> make_entry(const PrepareRequest& request, const std::vector<SplitRequest>& splits,
                                       const SourceFiles& sources, const std::string& key,
                                       const TokenCache& cache, const TokenizerLoader& load_tokenizer,
                                       const PrepareObserver& observer) {
  cache.remove_abandoned();
  TokenCache::Staging staging(cache.tokens_folder());
  const PrepareRequest settled = with_settled_columns(request);
  SplitBuilder builder(settled, load_tokenizer, observer);
  PreparedData data;
  const std::optional<Json> facts = builder.survey(survey_files(request));
  if (!facts) return std::nullopt;
  data.facts = *facts;
  for (const SplitRequest& split : splits) {
    member_of(data, split) = builder.build(split, staging.folder() + '/' + name_of(split), data.facts);
    if (!member_of(data, split)) return std::nullopt;
    tell_remarks(*member_of(data, split), split.split, observer.logger);
  }
  sources.check();
  Json record = made_from(request, splits);
  record["recipe"] = recipe_record(request, splits, builder.tokenizer());
  record["training_key"] = training_key_of(request, splits);
  return cache.publish(key, staging, data, record, request.overwrite_cache);
}

// Of samples that somebody else has made.
PreparedData held(PreparedData data, const Logger& logger) {
  if (!TokenCache::hold(data)) {
    throw Error(ExitCode::kData, "the prepared folder was removed meanwhile")
        .where(data.folder)
        .why("its record is not there any more")
        .hint("prepare its rows again");
  }
  for (const auto& [split, kind] :
       {std::pair(&data.train, Split::kTrain), std::pair(&data.validation, Split::kValidation),
        std::pair(&data.validation_mismatched, Split::kValidation), std::pair(&data.test, Split::kTest),
        std::pair(&data.test_mismatched, Split::kTest)}) {
    if (*split) tell_remarks(**split, kind, logger);
  }
  return data;
}

}  // namespace

std::string cache_folder(const Environment& environment) {
  const auto set = [&](const char* name) {
    const auto value = environment.get(name);
    return value && !value->empty() ? value : std::nullopt;
  };
  if (const auto folder = set("HFTRAIN_CACHE")) return *folder;
  if (const auto folder = set("XDG_CACHE_HOME")) return *folder + "/hftrain";
  if (const auto folder = set("HOME")) return *folder + "/.cache/hftrain";
  throw Error(ExitCode::kEnvironment, "there is no place for the token cache")
      .where("environment HFTRAIN_CACHE")
      .why("none of HFTRAIN_CACHE, XDG_CACHE_HOME and HOME is set")
      .hint("set HFTRAIN_CACHE to a folder");
}

std::optional<PreparedData> find_prepared(const PrepareRequest& request) {
  check_block_size(request);
  if (request.overwrite_cache || folder_of_samples(request)) return std::nullopt;
  const std::vector<SplitRequest> splits = splits_of(request);
  if (splits.empty()) return PreparedData{};
  if (has_text(request, splits) && request.tokenizer_folder.empty())
    return std::nullopt;  // of a plan without a tokenizer
  return with_training_key(find_made(TokenCache(request.cache_folder), key_of(request, splits), splits),
                           request, splits);
}

std::string training_key(const PrepareRequest& request) {
  if (const auto folder = folder_of_samples(request)) return take_samples(*folder, request, {}).training_key;
  const std::vector<SplitRequest> splits = splits_of(request);
  if (has_text(request, splits) && request.tokenizer_folder.empty())
    return "";  // of a plan without a tokenizer
  return training_key_of(request, splits);
}

std::optional<PreparedData> prepare(const PrepareRequest& request, const TokenizerLoader& load_tokenizer,
                                    const PrepareObserver& observer) {
  check_block_size(request);
  if (const auto folder = folder_of_samples(request))
    return held(take_samples(*folder, request, load_tokenizer), observer.logger);
  refuse_other_vocabulary(request, load_tokenizer);
  const std::vector<SplitRequest> splits = splits_of(request);
  if (splits.empty()) return PreparedData{};
  warn_of_repeated_files(splits, observer.logger);
  const SourceFiles sources(splits, survey_files(request));
  const std::string key = key_of(request, splits);
  const TokenCache cache(request.cache_folder);
  if (!request.overwrite_cache) {
    auto found = find_made(cache, key, splits);
    if (found && TokenCache::hold(*found)) {
      for (const SplitRequest& split : splits)
        if (const auto& prepared = member_of(*found, split))
          tell_remarks(*prepared, split.split, observer.logger);
      return with_training_key(std::move(found), request, splits);
    }
    if (!found && path_exists(cache.folder_of(key))) warn_of_entry(cache, key, observer.logger);
  }
  try {
    return with_training_key(make_entry(request, splits, sources, key, cache, load_tokenizer, observer),
                             request, splits);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDisk) throw;
    throw with_cache_variables(error);
  }
}

}  // namespace hftrain::data
