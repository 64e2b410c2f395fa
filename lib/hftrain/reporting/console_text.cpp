#include "hftrain/reporting/console_text.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "hftrain/base/text.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

constexpr size_t kLongestText = 100;
constexpr int kWidestBar = 24;
constexpr int kNarrowestBar = 8;

std::string count_line(const char* name, int64_t value) {
  return std::string("  ") + name + " = " + with_thousands(value) + '\n';
}

bool ends_with(const std::string& text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// Where the Trainer puts a key in a record; equal ranks are in alphabetical order. `of_training`: the record
// of an interval, to which the count of tokens brings run time and rate after all else.
int key_rank(const std::string& key, bool of_training) {
  static constexpr std::array<std::pair<const char*, int>, 6> kExact = {{{"loss", 0},
                                                                         {"grad_norm", 1},
                                                                         {"learning_rate", 2},
                                                                         {"train_loss", 9},
                                                                         {"epoch", 10},
                                                                         {"num_input_tokens_seen", 11}}};
  static constexpr std::array<std::pair<const char*, int>, 5> kSuffixes = {{{"_loss", 3},
                                                                            {"_runtime", 5},
                                                                            {"_samples_per_second", 6},
                                                                            {"_steps_per_second", 7},
                                                                            {"_tokens_per_second", 8}}};
  for (const auto& [name, rank] : kExact) {
    if (key == name) return rank;
  }
  if (of_training && key == "train_runtime") return 12;
  if (of_training && key == "train_tokens_per_second") return 13;
  for (const auto& [suffix, rank] : kSuffixes) {
    if (ends_with(key, suffix)) return rank;
  }
  return 4;
}

Json shown_value(const Json& value) {
  if (value.is_null()) return "nan";
  if (value.is_number_float()) return python_general(value.get<double>(), 4);
  if (value.is_string() && python_len(value.get<std::string>()) > kLongestText) {
    return "[a text of " + std::to_string(python_len(value.get<std::string>())) + " characters]";
  }
  return value;
}

std::string step_count(const ProgressState& state) {
  if (state.phase == "save" || state.phase == "load")
    return format_bytes(static_cast<uint64_t>(std::max<int64_t>(state.done, 0)));
  return with_thousands(state.done) + (state.total > 0 ? '/' + with_thousands(state.total) : "");
}

std::vector<std::string> known_facts(const ProgressState& state) {
  std::vector<std::string> facts;
  if (state.loss) facts.push_back("loss " + python_general(*state.loss, 4));
  if (state.learning_rate) facts.push_back("lr " + python_general(*state.learning_rate, 3));
  if (state.tokens_per_second) {
    facts.push_back(with_thousands(static_cast<int64_t>(*state.tokens_per_second)) + " tokens/s");
  }
  if (state.memory_bytes) facts.push_back(format_bytes(*state.memory_bytes));
  if (state.seconds_left) facts.push_back(format_duration(*state.seconds_left) + " left");
  if (state.last_save) facts.push_back("saved at " + with_thousands(*state.last_save));
  return facts;
}

std::string draw_bar(const ProgressState& state, int width) {
  const double share =
      std::clamp(static_cast<double>(state.done) / static_cast<double>(state.total), 0.0, 1.0);
  const auto full = static_cast<size_t>(share * width);
  std::string bar(full, '=');
  if (full < static_cast<size_t>(width)) bar += full > 0 || state.done > 0 ? ">" : " ";
  bar.resize(static_cast<size_t>(width), ' ');
  return " [" + bar + ']';
}

}  // namespace

std::string training_header(const TrainingHeader& header) {
  return "***** Running training *****\n" + count_line("Num examples", header.examples) +
         count_line("Num Epochs", header.epochs) +
         count_line("Num update steps per epoch", header.updates_per_epoch) +
         count_line("Instantaneous batch size per device", header.batch_per_device) +
         count_line("Total train batch size (w. parallel, distributed & accumulation)", header.total_batch) +
         "  Gradient Accumulation steps = " + std::to_string(header.accumulation_steps) + '\n' +
         count_line("Total optimization steps", header.total_steps) +
         count_line("Number of trainable parameters", header.trainable_parameters);
}

std::string resume_header(int64_t epoch, int64_t step, int64_t batches_done, bool ignore_data_skip) {
  const std::string first = "  Resuming training from checkpoint with epoch " + std::to_string(epoch) +
                            " and global step " + std::to_string(step) + '\n';
  if (ignore_data_skip) return first + "  The data of this epoch start over (--ignore_data_skip)\n";
  return first + "  The data go on after " + std::to_string(epoch) + " epochs and " +
         std::to_string(batches_done) + " batches; nothing is replayed\n";
}

std::string evaluation_header(const std::string& what, std::optional<int64_t> examples,
                              int64_t batch_per_device) {
  return "\n***** Running " + what + " *****\n" +
         (examples ? count_line("Num examples", *examples) : "  Num examples: Unknown\n") +
         "  Batch size = " + std::to_string(batch_per_device) + '\n';
}

std::string log_line(const Json& record) {
  std::vector<std::tuple<int, std::string, const Json*>> items;
  const bool of_training = record.contains("loss");
  for (const auto& [key, value] : record.items()) {
    if (key != "step" && key != "time" && key != "total_flos")
      items.emplace_back(key_rank(key, of_training), key, &value);
  }
  std::sort(items.begin(), items.end());
  std::vector<std::string> parts;
  for (const auto& [rank, key, value] : items) {
    parts.push_back(python_repr(Json(key)) + ": " + python_repr(shown_value(*value)));
  }
  return '{' + join(parts, ", ") + '}';
}

std::string progress_bar(const ProgressState& state, int width) {
  const std::string start = state.phase + ' ' + step_count(state);
  const std::string facts = join(known_facts(state), ", ");
  const int room = width - static_cast<int>(start.size() + facts.size()) - 4;
  std::string line = start;
  if (state.total > 0 && room >= kNarrowestBar) line += draw_bar(state, std::min(room, kWidestBar));
  if (!facts.empty()) line += ' ' + facts;
  return line.substr(0, static_cast<size_t>(std::max(width, 0)));
}

std::string progress_line(const ProgressState& state) {
  std::vector<std::string> parts = known_facts(state);
  parts.insert(parts.begin(), state.phase + ' ' + step_count(state));
  return join(parts, ", ");
}

}  // namespace hftrain::reporting
