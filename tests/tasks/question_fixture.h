// What the tests of question answering share: the golden cases, a folder to prepare their files in, and ways to
// look at what came of them.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/data/collator.h"
#include "hftrain/data/dataset.h"
#include "hftrain/data/prepare.h"
#include "hftrain/tasks/task_table.h"
#include "support/temporary_directory.h"

namespace hftrain::tasks::questions {

const Json& question_golden();

// A folder with a tokenizer, files of a case, and a cache.
struct QuestionFixture {
  hftrain::testing::TemporaryDirectory folder;
  arguments::Arguments arguments;
  TaskInput input{.arguments = arguments, .model_config = {{"type_vocab_size", 2}}, .pad_id = 0};

  // The tokenizer of the first golden case, nothing asked for.
  QuestionFixture();
  // Tokenizer and flags of that golden case.
  explicit QuestionFixture(const Json& entry);
  QuestionFixture(const QuestionFixture&) = delete;
  QuestionFixture& operator=(const QuestionFixture&) = delete;

  void use_tokenizer(const Json& entry);
  // Of one training file.
  data::PrepareRequest request(const std::string& name, const std::string& content) const;
  data::PreparedData prepare(const data::PrepareRequest& request) const;
  // The message of the refusal for wrong data; empty when there is none.
  std::string refusal(const data::PrepareRequest& request) const;
};

std::vector<int64_t> numbers_of(const data::Dataset& dataset, const std::string& column, int64_t sample);
std::string text_of(const data::Dataset& dataset, const std::string& column, int64_t sample);
std::vector<int64_t> every_sample(const data::Dataset& dataset);
// A tensor of whole numbers of the batch as nested lists; null: the batch has none of that name.
Json batch_tensor(const data::Collator& collator, const data::Dataset& dataset,
                  const std::vector<int64_t>& samples, const std::string& name);

}  // namespace hftrain::tasks::questions
