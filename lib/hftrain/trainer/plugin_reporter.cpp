#include "hftrain/trainer/plugin_reporter.h"

#include <stdexcept>
#include <utility>

#include "hftrain/trainer/plugin_callback.h"

namespace hftrain::trainer {
namespace {

plugin::End end_of(reporting::RunEnd how) {
  switch (how) {
    case reporting::RunEnd::kFinished:
      return plugin::End::kFinished;
    case reporting::RunEnd::kStopped:
      return plugin::End::kStopped;
    case reporting::RunEnd::kFailed:
      break;
  }
  return plugin::End::kFailed;
}

class PluginSink final : public reporting::RecordSink {
 public:
  PluginSink(PluginPart part, std::unique_ptr<plugin::Reporter> reporter)
      : part_(std::move(part)), reporter_(std::move(reporter)) {}

  void record(const reporting::LogRecord& record) override {
    const plugin::Record shown{record.step, record.epoch, record.time, numbers_of(record.metrics)};
    part_.call("record", [&] { reporter_->record(shown); });
  }
  void flush() override {
    part_.call("flush", [&] { reporter_->flush(); });
  }
  void end(reporting::RunEnd how) override {
    part_.call("end", [&] { reporter_->end(end_of(how)); });
  }

 private:
  PluginPart part_;
  std::unique_ptr<plugin::Reporter> reporter_;
};

}  // namespace

FurtherReporter plugin_reporter(PluginPart part,
                                plugin::Registry::Named<plugin::Registry::BeginReporter> reporter,
                                plugin::Run run) {
  auto begin = [part = std::move(part), begin = std::move(reporter.member), run = std::move(run)] {
    return part.call("beginning", [&]() -> std::unique_ptr<reporting::RecordSink> {
      std::unique_ptr<plugin::Reporter> begun = begin(run);
      if (!begun) throw std::runtime_error("it made no reporter");
      return std::make_unique<PluginSink>(part, std::move(begun));
    });
  };
  return {std::move(reporter.name), std::move(begin)};
}

}  // namespace hftrain::trainer
