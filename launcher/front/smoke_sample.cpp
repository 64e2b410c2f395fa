#include "launcher/front/smoke_sample.h"

#include "hftrain/architectures/architecture.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/sample_classes.h"
#include "hftrain/data/sample_images.h"
#include "hftrain/data/sample_instructions.h"
#include "hftrain/data/sample_questions.h"
#include "hftrain/data/sample_sequences.h"
#include "hftrain/data/sample_tags.h"
#include "hftrain/data/sample_text.h"
#include "hftrain/tasks/task_table.h"
#include "hftrain/tokenizer/tokenizer_training.h"

namespace hftrain::front {
namespace {

using tasks::Task;

constexpr uint64_t kSampleSeed = 42;
constexpr int64_t kSampleBytes = 200'000, kSampleVocabulary = 512;
constexpr const char* kSampleTemplate =
    "{% for message in messages %}{{ message['role'] }}: {% if message['role'] == 'assistant' %}{% "
    "generation %}"
    "{{ message['content'] }}{{ eos_token }}{% endgeneration %}{% else %}{{ message['content'] }}{% endif "
    "%}\n"
    "{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}";

std::string write_rows(const std::string& folder, const std::string& rows) {
  const std::string path = folder + "/sample.jsonl";
  write_file_atomically(path, rows);
  return path;
}

std::string write_text(const std::string& folder) {
  const std::string path = folder + "/text.txt";
  write_file_atomically(path, data::sample_text(kSampleSeed, kSampleBytes));
  return path;
}

std::string write_pictures(const std::string& folder) {
  const std::string place = folder + "/pictures";
  data::sample_images(kSampleSeed, kSampleBytes, [&](const data::SampleImage& image) {
    write_file_atomically(place + '/' + image.name, image.bytes);
  });
  return place;
}

// The first family with that head, in its class's own size.
std::string family_with(architectures::Head head) {
  for (const std::string& name : architectures::Architecture::model_types()) {
    try {
      architectures::Architecture::from_scratch(name, "", head);
      return name;
    } catch (const Error&) {
      continue;
    }
  }
  throw Error(ExitCode::kInternal, "no model family has the head that a task wants");
}

bool writes_text(Task task) {
  return tasks::row_of(task).head == architectures::Head::kCausalLm;
}

std::string small_config(Task task) {
  const std::string small = "num_hidden_layers=2,num_attention_heads=2,hidden_size=64,vocab_size=512";
  switch (task) {
    case Task::kSeq2Seq:
      return small + ",decoder_start_token_id=0,pad_token_id=0,eos_token_id=1";
    case Task::kImageClassification:
      return "num_hidden_layers=2,num_attention_heads=2,hidden_size=64,image_size=32,patch_size=8";
    default:
      return small + ",max_position_embeddings=128" +
             (writes_text(task) ? ",bos_token_id=0,eos_token_id=0" : "");
  }
}

}  // namespace

std::vector<std::string> write_sample_data(Task task, const arguments::Arguments& asked,
                                           const std::string& folder) {
  switch (task) {
    case Task::kInstructionTuning:
      return {"--train_file", write_rows(folder, data::sample_instructions(kSampleSeed, kSampleBytes))};
    case Task::kTextClassification:
      return {"--train_file", write_rows(folder, data::sample_classes(kSampleSeed, kSampleBytes))};
    case Task::kTokenClassification:
      return {"--train_file", write_rows(folder, data::sample_tags(kSampleSeed, kSampleBytes))};
    case Task::kQuestionAnswering:
      return {"--train_file", write_rows(folder, data::sample_questions(kSampleSeed, kSampleBytes))};
    case Task::kImageClassification:
      return {"--train_dir", write_pictures(folder)};
    case Task::kSeq2Seq: {
      std::vector<std::string> flags = {
          "--train_file", write_rows(folder, data::sample_sequences(kSampleSeed, kSampleBytes))};
      if (asked.run.task == "translation")
        flags.insert(flags.end(), {"--source_lang", "plain", "--target_lang", "cipher"});
      return flags;
    }
    default:
      return {"--train_file", write_text(folder)};
  }
}

std::string write_sample_tokenizer(Task task, const std::string& folder) {
  const tokenizer::TokenizerTraining training = {
      .kind = writes_text(task) ? tokenizer::TokenizerKind::kBpe : tokenizer::TokenizerKind::kWordPiece,
      .vocab_size = kSampleVocabulary};
  const std::string place = folder + "/tokenizer";
  tokenizer::train_tokenizer(training, {write_text(folder)}, place);
  if (task == Task::kInstructionTuning)
    write_file_atomically(place + "/chat_template.jinja", kSampleTemplate);
  return place;
}

std::vector<std::string> sample_model_flags(Task task, const arguments::Arguments& asked) {
  std::vector<std::string> flags = {"--model_type", family_with(tasks::row_of(task).head),
                                    "--config_overrides", small_config(task)};
  const auto add = [&](const char* flag, const char* value, bool was_asked) {
    if (!was_asked) flags.insert(flags.end(), {flag, value});
  };
  const arguments::DataArguments& data = asked.data;
  if (task == Task::kCausalLm) add("--block_size", "64", data.block_size.has_value());
  if (task == Task::kSeq2Seq) {
    add("--max_source_length", "64", data.max_source_length != arguments::DataArguments().max_source_length);
    add("--max_target_length", "32", data.max_target_length != arguments::DataArguments().max_target_length);
  }
  if (task == Task::kInstructionTuning)
    add("--max_length", "64", asked.instructions.max_length != arguments::InstructionArguments().max_length);
  const bool has_one_length = task != Task::kCausalLm && task != Task::kInstructionTuning &&
                              task != Task::kSeq2Seq && task != Task::kImageClassification;
  if (has_one_length) add("--max_seq_length", "64", data.max_seq_length.has_value());
  if (task == Task::kQuestionAnswering)
    add("--doc_stride", "16", data.doc_stride != arguments::DataArguments().doc_stride);
  return flags;
}

}  // namespace hftrain::front
