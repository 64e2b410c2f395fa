#include "hftrain/reporting/tensorboard_summary.h"

#include <cmath>
#include <cstdint>

#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

// Field numbers of summary.proto and tensor.proto.
constexpr int kValueTag = 1, kValueScalar = 2, kValueTensor = 8, kValueMetadata = 9;
constexpr int kMetadataPlugin = 1, kPluginName = 1, kPluginContent = 2;
constexpr int kTensorType = 1, kTensorShape = 2, kTensorStrings = 8, kShapeDim = 2, kDimSize = 1;
constexpr uint64_t kFloatType = 1, kStringType = 7;
// Of plugin_data.proto and, for a value, google/protobuf/struct.proto.
constexpr int kSessionStart = 3, kSessionEnd = 4;
constexpr int kStartHparams = 1, kStartTime = 5, kEndStatus = 1, kEndTime = 2;
constexpr int kEntryKey = 1, kEntryValue = 2, kNumber = 2, kText = 3, kBool = 4;
constexpr uint64_t kSuccess = 1, kFailure = 2;

ProtobufMessage tensor_of(uint64_t type, uint64_t size) {
  const ProtobufMessage dimension = ProtobufMessage().count(kDimSize, size);
  return ProtobufMessage()
      .varint(kTensorType, type)
      .message(kTensorShape, ProtobufMessage().message(kShapeDim, dimension));
}

ProtobufMessage plugin_summary(const std::string& tag, const ProtobufMessage& plugin,
                               const ProtobufMessage& tensor) {
  return ProtobufMessage()
      .bytes(kValueTag, tag)
      .message(kValueMetadata, ProtobufMessage().message(kMetadataPlugin, plugin))
      .message(kValueTensor, tensor);
}

// All that the plug-in needs stands in the metadata; the tensor is an empty one, as TensorBoard's own writer has it.
ProtobufMessage hparams_summary(const std::string& name, int kind, const ProtobufMessage& session) {
  const ProtobufMessage content = ProtobufMessage().message(kind, session);
  return plugin_summary(
      "_hparams_/" + name,
      ProtobufMessage().bytes(kPluginName, "hparams").bytes(kPluginContent, content.encoded()),
      tensor_of(kFloatType, 0));
}

ProtobufMessage hparam_value(const Json& value) {
  if (value.is_boolean()) return ProtobufMessage().varint(kBool, value.get<bool>() ? 1 : 0);
  // The dashboard's answers are JSON, which has no other numbers.
  if (value.is_number() && std::isfinite(value.get<double>()))
    return ProtobufMessage().float64(kNumber, value.get<double>());
  return ProtobufMessage().bytes(kText, value.is_string() ? value.get<std::string>() : python_repr(value));
}

}  // namespace

ProtobufMessage scalar_summary(const std::string& tag, double value) {
  return ProtobufMessage().bytes(kValueTag, tag).float32(kValueScalar, static_cast<float>(value));
}

ProtobufMessage text_summary(const std::string& name, const std::string& content) {
  return plugin_summary(name + "/text_summary", ProtobufMessage().bytes(kPluginName, "text"),
                        tensor_of(kStringType, 1).bytes(kTensorStrings, content));
}

ProtobufMessage session_start_summary(const Json& arguments, double time) {
  ProtobufMessage session;
  for (const auto& [name, value] : arguments.items())
    session.message(kStartHparams,
                    ProtobufMessage().bytes(kEntryKey, name).message(kEntryValue, hparam_value(value)));
  return hparams_summary("session_start_info", kSessionStart, session.float64(kStartTime, time));
}

ProtobufMessage session_end_summary(RunEnd how, double time) {
  const uint64_t status = how == RunEnd::kFinished ? kSuccess : kFailure;
  return hparams_summary("session_end_info", kSessionEnd,
                         ProtobufMessage().varint(kEndStatus, status).float64(kEndTime, time));
}

}  // namespace hftrain::reporting
