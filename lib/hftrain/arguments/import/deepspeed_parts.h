// The parts of import_deepspeed(): each takes its sections of a checked DeepSpeed file.
#pragma once

#include "hftrain/arguments/deepspeed_options.h"
#include "hftrain/arguments/import/flag_values.h"
#include "hftrain/arguments/import/section_check.h"

namespace hftrain::arguments {

struct DeepSpeedFile {
  CheckedSection& keys;
  ParseOutcome& outcome;
  FlagValues& flags;
  DeepSpeedOptions& options;
  Diagnostics& problems;
  bool is_of_smoke = false;

  // A rule between keys of the file.
  void refuse(const std::string& pointer, std::string what, std::string why, std::string hint) const;
};

// deepspeed_training.cpp
void import_batch(const DeepSpeedFile& file);
void import_precision(const DeepSpeedFile& file);
void import_clipping(const DeepSpeedFile& file);
void import_monitors(const DeepSpeedFile& file);
void import_checkpoint(const DeepSpeedFile& file);
void import_vocabulary_size(const DeepSpeedFile& file);
// deepspeed_optimizer.cpp
void import_optimizer(const DeepSpeedFile& file);
void import_scheduler(const DeepSpeedFile& file);
// deepspeed_zero.cpp
void import_zero(const DeepSpeedFile& file);

// The stage that accelerate takes where none is given.
inline constexpr int64_t kDefaultStage = 2;
// The strategy of a ZeRO stage, in the words of ParallelOptions.
const char* strategy_of_stage(int64_t stage);

}  // namespace hftrain::arguments
