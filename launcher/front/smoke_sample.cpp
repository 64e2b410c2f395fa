#include "launcher/front/smoke_sample.h"

#include <map>
#include <random>
#include <string_view>
#include <utility>

#include "hftrain/architectures/architecture.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/data/sample_images.h"
#include "hftrain/data/sample_text.h"
#include "hftrain/storage/file_system.h"
#include "hftrain/storage/model_folder.h"
#include "hftrain/storage/safetensors_writer.h"
#include "hftrain/tasks/task_table.h"
#include "hftrain/tokenizer/tokenizer_training.h"
#include "launcher/front/smoke_rows.h"

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

// Flags that name pictures: a folder, or rows where columns are asked for.
std::vector<std::string> write_pictures(const arguments::Arguments& asked, const std::string& folder) {
  const std::string place = folder + "/pictures";
  std::string rows;
  data::sample_images(kSampleSeed, kSampleBytes, [&](const data::SampleImage& image) {
    write_file_atomically(place + '/' + image.name, image.bytes);
    rows += sample_image_row(asked, place + '/' + image.name);
  });
  if (names_image_columns(asked)) return {"--train_file", write_rows(folder, rows)};
  return {"--train_dir", place};
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

// For rows as long as they are asked for, and at least for those of sample_length_flags.
int64_t positions_for(const arguments::Arguments& asked) {
  constexpr int64_t kLeast = 128, kMost = 65536;  // longer rows take a model that is named
  return std::clamp(asked_length(asked), kLeast, kMost);
}

// With an inner width of its own where a family's is a number, which would be up to 96 times the rest.
std::string small_config(Task task, const arguments::Arguments& asked) {
  const std::string small = "num_hidden_layers=2,num_attention_heads=2,hidden_size=32";
  const std::string of_words = small + ",vocab_size=512", inner = ",intermediate_size=128",
                    positions = ",max_position_embeddings=" + std::to_string(positions_for(asked));
  switch (task) {
    case Task::kSeq2Seq:
      return of_words + ",d_kv=16,d_ff=128,decoder_start_token_id=0,pad_token_id=0,eos_token_id=1";
    case Task::kImageClassification:
      return small + inner + ",image_size=32,patch_size=8";
    case Task::kMaskedLm:
      return of_words + inner + positions;
    default:
      return of_words + positions + (writes_text(task) ? ",bos_token_id=0,eos_token_id=0" : "");
  }
}

std::vector<std::string> write_training_data(Task task, const arguments::Arguments& asked,
                                             const std::string& folder) {
  switch (task) {
    case Task::kCausalLm:
    case Task::kMaskedLm:
      return {"--train_file", write_text(folder)};
    case Task::kImageClassification:
      return write_pictures(asked, folder);
    default: {
      std::vector<std::string> flags = {
          "--train_file", write_rows(folder, sample_rows(task, asked, kSampleSeed, kSampleBytes))};
      if (asked.run.task == "translation" && !asked.data.source_lang)
        flags.insert(flags.end(), {"--source_lang", "plain"});
      if (asked.run.task == "translation" && !asked.data.target_lang)
        flags.insert(flags.end(), {"--target_lang", "cipher"});
      return flags;
    }
  }
}

// Numbers of the size that the parameter begins with; which ones is of no use to a check.
class SampleWeights {
 public:
  std::string_view bytes_of(const architectures::ParameterSpec& spec) {
    numbers_.resize(static_cast<size_t>(spec.numel()));
    for (float& number : numbers_) number = number_of(spec.init);
    return {reinterpret_cast<const char*>(numbers_.data()), numbers_.size() * sizeof(float)};
  }

 private:
  float number_of(const architectures::Init& init) {
    using architectures::InitKind;
    if (init.kind == InitKind::kZeros) return 0;
    if (init.kind == InitKind::kOnes) return 1;
    if (init.kind == InitKind::kConstant) return static_cast<float>(init.std);
    const double chance = static_cast<double>(random_()) / static_cast<double>(std::mt19937_64::max());
    return static_cast<float>(init.std * (2 * chance - 1));
  }

  std::mt19937_64 random_{kSampleSeed};
  std::vector<float> numbers_;
};

}  // namespace

std::vector<std::string> write_sample_data(Task task, const arguments::Arguments& asked,
                                           const std::string& folder) {
  std::vector<std::string> flags = write_training_data(task, asked, folder);
  const std::string rows = flags[1];
  if (asked.run.do_predict && asked.data.test_file.empty()) flags.insert(flags.end(), {"--test_file", rows});
  return flags;
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
  return {"--model_type", family_with(tasks::row_of(task).head), "--config_overrides",
          small_config(task, asked)};
}

int64_t asked_length(const arguments::Arguments& asked) {
  const arguments::DataArguments& data = asked.data;
  const arguments::DataArguments usual;
  const auto unless_usual = [](const auto& length, const auto& default_length) {
    return length == default_length ? 0 : std::optional<int64_t>(length).value_or(0);
  };
  return std::max(
      {data.block_size.value_or(0), data.max_seq_length.value_or(0),
       unless_usual(data.max_source_length, usual.max_source_length),
       unless_usual(data.max_target_length, usual.max_target_length),
       unless_usual(asked.instructions.max_length, arguments::InstructionArguments().max_length)});
}

std::vector<std::string> sample_length_flags(Task task, const arguments::Arguments& asked) {
  std::vector<std::string> flags;
  const auto add = [&](const char* flag, const std::string& value, bool was_asked) {
    if (!was_asked) flags.insert(flags.end(), {flag, value});
  };
  const std::string usual = std::to_string(kUsualLength);
  const arguments::DataArguments& data = asked.data;
  if (task == Task::kCausalLm) add("--block_size", usual, data.block_size.has_value());
  if (task == Task::kSeq2Seq) {
    add("--max_source_length", usual, data.max_source_length != arguments::DataArguments().max_source_length);
    add("--max_target_length", "32", data.max_target_length != arguments::DataArguments().max_target_length);
  }
  if (task == Task::kInstructionTuning)
    add("--max_length", usual, asked.instructions.max_length != arguments::InstructionArguments().max_length);
  const bool has_one_length = task != Task::kCausalLm && task != Task::kInstructionTuning &&
                              task != Task::kSeq2Seq && task != Task::kImageClassification;
  if (has_one_length) add("--max_seq_length", usual, data.max_seq_length.has_value());
  if (task == Task::kQuestionAnswering)
    add("--doc_stride", "16", data.doc_stride != arguments::DataArguments().doc_stride);
  return flags;
}

std::string write_sample_model(Task task, const arguments::Arguments& asked, const std::string& folder) {
  const architectures::Head head = tasks::row_of(task).head;
  const auto model =
      architectures::Architecture::from_scratch(family_with(head), small_config(task, asked), head);
  std::vector<storage::TensorEntry> entries;
  std::map<std::string, const architectures::ParameterSpec*> by_name;
  for (const architectures::ParameterSpec& spec : model->parameters().parameters) {
    if (spec.head || spec.buffer) continue;
    entries.push_back({spec.name, storage::DType::kF32, spec.shape});
    by_name[spec.name] = &spec;
  }
  const std::string place = folder + "/model";
  create_directories(place);
  Json config = model->config_json();
  config.erase("architectures");  // so that nobody looks for a head
  write_file_atomically(place + "/config.json", dump_json(config));
  SampleWeights weights;
  storage::PosixFileSystem files;
  storage::write_safetensors(
      files, place + '/' + storage::kWeightsName, std::move(entries),
      [&](const storage::TensorEntry& entry) { return weights.bytes_of(*by_name.at(entry.name)); });
  return place;
}

}  // namespace hftrain::front
