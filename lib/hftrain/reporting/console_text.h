// The lines a run shows to people, as pure functions. The wording of headers and records is that of the
// Hugging Face Trainer, because people and scripts look for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hftrain/base/json.h"

namespace hftrain::reporting {

struct TrainingHeader {
  int64_t examples = 0;
  int64_t epochs = 0;
  int64_t updates_per_epoch = 0;
  int64_t batch_per_device = 0;
  int64_t total_batch = 0;  // over all ranks and accumulation steps
  int64_t accumulation_steps = 1;
  int64_t total_steps = 0;
  int64_t trainable_parameters = 0;
};

// "***** Running training *****" and its eight lines, each with a newline.
std::string training_header(const TrainingHeader& header);

// "  Resuming training from checkpoint with epoch E and global step S", and where the data go on.
std::string resume_header(int64_t epoch, int64_t step, int64_t batches_done, bool ignore_data_skip);

// An empty line, "***** Running Evaluation *****" (or "Prediction"), the number of examples when known, the
// batch size.
std::string evaluation_header(const std::string& what, std::optional<int64_t> examples,
                              int64_t batch_per_device);

// A logged record as the Python text of a dict: loss, grad_norm, learning_rate, other metrics, speeds, epoch.
// Floats become texts of 4 significant digits. Step, time and total_flos are left out, long texts are
// replaced by their length. `null` stands for a number that is not finite. Without a newline.
std::string log_line(const Json& record);

// What the live line says. What is not known is left out.
struct ProgressState {
  std::string phase = "train";
  int64_t done = 0;
  int64_t total = 0;  // 0: unknown
  std::optional<double> loss;
  std::optional<double> learning_rate;
  std::optional<double> tokens_per_second;
  std::optional<uint64_t> memory_bytes;  // of rank 0's device, or of its process without one
  std::optional<double> seconds_left;
  std::optional<int64_t> last_save;  // step of the newest checkpoint
};

// "train 12/500 [==>      ] loss 2.346, lr 4.9e-05, …": at most `width` columns, without a newline.
std::string progress_bar(const ProgressState& state, int width);
// The same without a bar, of any length, for places where lines stay.
std::string progress_line(const ProgressState& state);

}  // namespace hftrain::reporting
