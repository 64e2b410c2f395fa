#include "question_fixture.h"

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::tasks::questions {

const Json& question_golden() {
  static const Json document =
      read_json_file(hftrain::testing::source_dir() + "/tests/golden/tasks/question_answering.json");
  return document;
}

QuestionFixture::QuestionFixture() {
  use_tokenizer(question_golden()["cases"][0]);
}

QuestionFixture::QuestionFixture(const Json& entry) {
  use_tokenizer(entry);
  arguments.data.max_seq_length = entry["max_seq_length"];
  arguments.data.doc_stride = entry["doc_stride"];
  arguments.data.version_2_with_negative = entry.value("version_2_with_negative", false);
  if (entry.contains("pad_to_max_length")) input.pad_to_max_length = entry["pad_to_max_length"];
}

void QuestionFixture::use_tokenizer(const Json& entry) {
  const Json& tokenizer = question_golden()["tokenizers"][entry["tokenizer"].get<size_t>()];
  write_file_atomically(folder / "tokenizer/tokenizer.json", dump_json(tokenizer));
  write_file_atomically(folder / "tokenizer/tokenizer_config.json", dump_json(entry["tokenizer_config"]));
  input.pads_on_left = entry["tokenizer_config"]["padding_side"] == "left";
}

data::PrepareRequest QuestionFixture::request(const std::string& name, const std::string& content) const {
  write_file_atomically(folder / name, content);
  data::PrepareRequest request;
  request.train_files = {folder / name};
  request.tokenizer_folder = folder / "tokenizer";
  request.cache_folder = folder / "cache";
  request.workers = 2;
  request.recipe = question_answering().recipe(input);
  return request;
}

data::PreparedData QuestionFixture::prepare(const data::PrepareRequest& request) const {
  return data::prepare(request, [&] { return tokenizer::Tokenizer::load(folder / "tokenizer"); }, {}).value();
}

std::string QuestionFixture::refusal(const data::PrepareRequest& request) const {
  try {
    prepare(request);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.render();
  }
  return "";
}

std::vector<int64_t> numbers_of(const data::Dataset& dataset, const std::string& column, int64_t sample) {
  const data::ColumnFile& file = dataset.column(column);
  std::vector<int64_t> values(static_cast<size_t>(file.length(sample)));
  file.copy_to(sample, values.data());
  return values;
}

std::string text_of(const data::Dataset& dataset, const std::string& column, int64_t sample) {
  std::string text;
  for (const int64_t byte : numbers_of(dataset, column, sample)) text += static_cast<char>(byte);
  return text;
}

std::vector<int64_t> every_sample(const data::Dataset& dataset) {
  std::vector<int64_t> samples(static_cast<size_t>(dataset.size()));
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<int64_t>(i);
  return samples;
}

Json batch_tensor(const data::Collator& collator, const data::Dataset& dataset,
                  const std::vector<int64_t>& samples, const std::string& name) {
  const std::vector<data::TensorShape> shapes = collator.shapes(dataset, samples);
  std::vector<std::vector<int64_t>> memory(shapes.size());
  std::vector<void*> places;
  for (size_t i = 0; i < shapes.size(); ++i) {
    size_t numbers = 1;
    for (const int64_t size : shapes[i].sizes) numbers *= static_cast<size_t>(size);
    memory[i].resize(numbers);
    places.push_back(memory[i].data());
  }
  collator.fill(dataset, samples, {}, places);
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].name != name) continue;
    if (shapes[i].sizes.size() == 1) return memory[i];
    const auto width = static_cast<std::ptrdiff_t>(shapes[i].sizes[1]);
    Json rows = Json::array();
    for (auto row = memory[i].begin(); row != memory[i].end(); row += width)
      rows.push_back(std::vector<int64_t>(row, row + width));
    return rows;
  }
  return nullptr;
}

}  // namespace hftrain::tasks::questions
