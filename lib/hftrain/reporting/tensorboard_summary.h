// The summaries that event files of TensorBoard hold: messages Summary.Value of summary.proto, with tensor.proto and
// tensorboard/plugins/hparams/plugin_data.proto.
#pragma once

#include <string>

#include "hftrain/base/json.h"
#include "hftrain/reporting/protobuf.h"
#include "hftrain/reporting/record_sink.h"

namespace hftrain::reporting {

ProtobufMessage scalar_summary(const std::string& tag, double value);
ProtobufMessage text_summary(const std::string& name, const std::string& content);

// A session of the dashboard HPARAMS, which is a run: its arguments (an object) at the start, how it went at the end;
// times in Unix seconds. Numbers, bools and texts stay what they are; anything else becomes Python's str() of it, as
// TrainingArguments.to_sanitized_dict() makes of it. There is no summary of an experiment: TensorBoard would take the
// first run's for all of them, and makes a better one of their sessions, with what differs and every scalar.
ProtobufMessage session_start_summary(const Json& arguments, double time);
ProtobufMessage session_end_summary(RunEnd how, double time);

}  // namespace hftrain::reporting
