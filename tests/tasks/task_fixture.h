// Files of a task to batches: a folder with a tokenizer, files and a cache, and what came out of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/dataset.h"
#include "hftrain/data/prepare.h"
#include "hftrain/tasks/task_table.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::testing {

inline Json golden_document(const std::string& name) {
  return read_json_file(source_dir() + "/tests/golden/tasks/" + name);
}

struct TaskFixture {
  TemporaryDirectory folder;
  arguments::Arguments arguments;
  tasks::TaskInput input{.arguments = arguments, .model_config = {{"type_vocab_size", 2}}, .pad_id = 0};
  tasks::TaskRow row;

  TaskFixture(tasks::TaskRow task, const Json& tokenizer, const Json& config = nullptr)
      : row(std::move(task)) {
    write_file_atomically(folder / "tokenizer/tokenizer.json", dump_json(tokenizer));
    if (!config.is_null())
      write_file_atomically(folder / "tokenizer/tokenizer_config.json", dump_json(config));
  }
  TaskFixture(const TaskFixture&) = delete;
  TaskFixture& operator=(const TaskFixture&) = delete;

  // The file is the training split, and what is surveyed.
  data::PrepareRequest request(const std::string& name, const std::string& content) {
    write_file_atomically(folder / name, content);
    data::PrepareRequest request;
    request.train_files = request.survey_files = {folder / name};
    request.tokenizer_folder = folder / "tokenizer";
    request.cache_folder = folder / "cache";
    request.workers = 2;
    request.recipe = row.recipe(input);
    return request;
  }
  data::PreparedData prepare(const data::PrepareRequest& request) const {
    return data::prepare(request, [&] { return tokenizer::Tokenizer::load(folder / "tokenizer"); }, {})
        .value();
  }
  // What is said of it; empty: it was taken.
  std::string refusal(const data::PrepareRequest& request, ExitCode code) const {
    try {
      prepare(request);
    } catch (const Error& error) {
      CHECK(error.code() == code);
      return error.render();
    }
    return "";
  }
};

inline std::shared_ptr<const data::Dataset> open_split(const std::optional<data::PreparedSplit>& split) {
  return data::Dataset::open(split->cache_path, split->columns);
}

inline std::vector<int64_t> integers_of(const data::Dataset& dataset, const std::string& column,
                                        int64_t sample) {
  const data::ColumnFile& file = dataset.column(column);
  std::vector<int64_t> values(static_cast<size_t>(file.length(sample)));
  file.copy_to(sample, values.data());
  return values;
}

inline std::vector<int64_t> all_samples_of(const data::Dataset& dataset) {
  std::vector<int64_t> samples(static_cast<size_t>(dataset.size()));
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<int64_t>(i);
  return samples;
}

// The int64 tensors [B, T] of a batch by name, as nested vectors. One that is the same as another is left out.
inline std::map<std::string, std::vector<std::vector<int64_t>>> matrices_of(
    const data::Collator& collator, const data::Dataset& dataset, const std::vector<int64_t>& samples,
    const data::DrawKey& key = {}) {
  const std::vector<data::TensorShape> shapes = collator.shapes(dataset, samples);
  std::vector<std::vector<int64_t>> memory(shapes.size());
  std::vector<void*> places;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i].same_as) memory[i].resize(static_cast<size_t>(shapes[i].sizes[0] * shapes[i].sizes[1]));
    places.push_back(shapes[i].same_as ? nullptr : memory[i].data());
  }
  collator.fill(dataset, samples, key, places);
  std::map<std::string, std::vector<std::vector<int64_t>>> found;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].same_as) continue;
    const auto width = static_cast<std::ptrdiff_t>(shapes[i].sizes[1]);
    for (auto at = memory[i].begin(); at != memory[i].end(); at += width)
      found[shapes[i].name].emplace_back(at, at + width);
  }
  return found;
}

}  // namespace hftrain::testing
