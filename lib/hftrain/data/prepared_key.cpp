#include "hftrain/data/prepared_key.h"

#include <algorithm>
#include <filesystem>

#include "hftrain/base/hash.h"
#include "hftrain/data/file_hashes.h"
#include "hftrain/data/image_folder.h"
#include "hftrain/data/line_reader.h"
#include "hftrain/data/settled_columns.h"
#include "hftrain/data/stream_spec.h"
#include "hftrain/data/token_cache.h"

namespace hftrain::data {
namespace {

namespace fs = std::filesystem;

std::string absolute_place(const std::string& path) {
  return fs::absolute(path).lexically_normal().string();
}

// What tells the contents of a file of rows from others. Of images their places and sizes: the cache holds no more of
// them than where they are. Rows that name images begin their paths in the folder of the file, which counts for that.
Json key_of_rows(const RowFile& file, bool of_images, const FileHashes& hashes) {
  const int format = static_cast<int>(file.format);
  if (file.format == RowFormat::kLinePairs)
    return {format, hashes.hash(file.path), hashes.hash(target_of_pair(file.path))};
  if (file.format != RowFormat::kImageFolder) {
    Json key = {format, hashes.hash(file.path)};
    if (of_images) key.push_back(fs::path(absolute_place(file.path)).parent_path().string());
    return key;
  }
  std::string listing;
  for (const ImageFile& image : image_files(file.path))
    listing += image.path + '\0' + std::to_string(image.bytes) + '\n';
  return {format, absolute_place(file.path), hash_bytes(listing)};
}

// Of rows that are held out of a stream the contents are not read for it, which may be as long as training.
Json key_of_split(const SplitRequest& split, bool of_stream, bool of_images, const FileHashes& hashes) {
  Json files = Json::array();
  for (const RowFile& file : split.files.rows)
    files.push_back(of_stream ? stamp_of(file).key() : key_of_rows(file, of_images, hashes));
  for (const std::string& prefix : split.files.token_prefixes) {
    files.push_back({"tokens", hashes.hash(prefix + ".idx"), hashes.hash(prefix + ".bin")});
  }
  return {{"files", files},
          {"share", static_cast<int>(split.share)},
          {"hold_out_percent", split.hold_out_percent},
          {"max_samples", split.max_samples ? Json(*split.max_samples) : Json()}};
}

}  // namespace

std::string key_of(const PrepareRequest& request, const std::vector<SplitRequest>& splits) {
  const FileHashes hashes(request.cache_folder + "/hashes");
  const bool of_images = request.recipe.image_folders;
  Json key = {{"format", kCacheFormat},
              {"task", request.recipe.task},
              {"options", request.recipe.options},
              {"facts", request.recipe.facts},
              {"block_size", packs(request) ? Json(request.block_size) : Json()},
              {"keep_linebreaks", request.keep_linebreaks}};
  for (const SplitRequest& split : splits) {
    const bool of_stream = request.holds_out_of_hundreds && split.share == RowShare::kHeldOut;
    key["splits"][name_of(split)] = key_of_split(split, of_stream, of_images, hashes);
  }
  for (const RowFile& file : survey_files(request).rows)
    key["survey"].push_back(key_of_rows(file, of_images, hashes));
  // Of other files the key holds the contents, and with them what their first one chooses.
  if (request.streams_training) key["columns"] = settled_columns(request).names;
  if (has_text(request, splits)) key["tokenizer"] = key_of_tokenizer(request.tokenizer_folder, hashes);
  return hash_bytes(dump_json(key, -1));
}

std::string training_key_of(PrepareRequest request, const std::vector<SplitRequest>& splits) {
  if (!request.recipe.training_options.is_null()) request.recipe.options = request.recipe.training_options;
  for (const SplitRequest& split : splits) {
    if (name_of(split) == split_name(Split::kTrain)) return key_of(request, {split});
  }
  return "";
}

Json made_from(const PrepareRequest& request, const std::vector<SplitRequest>& splits) {
  std::vector<std::string> sources;
  for (const SplitRequest& split : splits) {
    for (const RowFile& file : split.files.rows) sources.push_back(absolute_place(file.path));
    for (const std::string& prefix : split.files.token_prefixes)
      sources.push_back(absolute_place(prefix + ".bin"));
  }
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return {{"sources", sources},
          {"tokenizer", has_text(request, splits) ? absolute_place(request.tokenizer_folder) : ""}};
}

}  // namespace hftrain::data
