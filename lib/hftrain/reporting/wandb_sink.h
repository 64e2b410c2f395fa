// An offline run of Weights & Biases, which `wandb sync FOLDER` uploads:
// wandb/offline-run-<date>_<time>-<id>/ with run-<id>.wandb and files/. Records: wandb/proto/wandb_internal.proto. Nothing
// here talks to a server.
#pragma once

#include <cstdint>
#include <string>

#include "hftrain/reporting/protobuf.h"
#include "hftrain/reporting/record_sink.h"
#include "hftrain/reporting/wandb_log.h"

namespace hftrain::reporting {

// Curves, summary and configuration are those that the Trainer's callback writes: train/…, eval/…, test/… over
// train/global_step; train_runtime and its like in the summary alone; the model's configuration under the arguments.
// A run that goes on is an offline run of its own; WANDB_RUN_ID joins them.
class WandbSink final : public RecordSink {
 public:
  explicit WandbSink(const ReportedRun& run);
  void record(const LogRecord& record) override;
  void end(RunEnd how) override;

  const std::string& folder() const noexcept { return folder_; }

 private:
  void write(int kind, const ProtobufMessage& content);
  void begin(const ReportedRun& run);
  void define_axis();

  std::string id_, folder_;
  WandbLog log_;
  double started_, newest_;  // Unix seconds
  int64_t records_ = 0, points_ = 0;
};

}  // namespace hftrain::reporting
