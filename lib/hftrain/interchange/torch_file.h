// A file of torch.save: a zip with a pickle and the storages of its tensors. Only tensors and plain containers are read
// (pickle_reader.h). What lies in it: https://github.com/pytorch/pytorch/blob/v2.11.0/torch/serialization.py
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/interchange/pickle_reader.h"
#include "hftrain/interchange/pickle_value.h"
#include "hftrain/interchange/zip_file.h"

namespace hftrain::interchange {

// A value of a document, looked at. What is not of the kind asked for is Error(kData) naming the file. Valid while the document lives.
class TorchValue {
 public:
  using Kind = PickledValue::Kind;
  TorchValue(const PickledDocument& document, uint32_t position)
      : document_(&document), position_(position) {}

  Kind kind() const { return value().kind; }
  // `what` names the value in errors.
  int64_t integer(const char* what) const;
  double number(const char* what) const;  // of a whole number, too, and of a tensor with one float
  const std::string& text(const char* what) const;
  const PickledTensor& tensor(const char* what) const;
  // Of a list, a tuple or a dict, whose entries the next ones copy: a pickle may name one large value a million times.
  size_t count(const char* what) const;
  std::vector<TorchValue> items(const char* what) const;                         // of a list or a tuple
  std::vector<std::pair<TorchValue, TorchValue>> pairs(const char* what) const;  // of a dict
  // The value of a dict at a text; nothing when it has none. The last one counts.
  std::optional<TorchValue> find(std::string_view key) const;
  TorchValue at(std::string_view key) const;
  // Of a record: the name of its type, and what it was made of (a tuple) and was given. Of anything else: "", and Error(kData).
  const std::string& type() const;
  TorchValue arguments(const char* what) const;
  TorchValue state(const char* what) const;

 private:
  const PickledValue& value() const;
  [[noreturn]] void refuse(const char* what, const char* wanted) const;
  const PickledDocument* document_;
  uint32_t position_;
};

// kCompared reads all bytes of what is opened and compares their checksums.
enum class Checksums { kLeft, kCompared };

class TorchFile {
 public:
  explicit TorchFile(const std::string& path, RecordNames records = {});
  // In a part of a file that the caller keeps mapped; `origin` is what messages call it.
  TorchFile(std::string origin, std::string_view bytes);
  TorchFile(const TorchFile&) = delete;
  TorchFile& operator=(const TorchFile&) = delete;

  const std::string& path() const noexcept { return zip_.path(); }
  TorchValue root() const { return {document_, document_.root}; }
  const PickledDocument& document() const noexcept { return document_; }
  // Compares the checksum of every entry; the pickle's is compared when the file is opened. Error(kData).
  void check() const;

 private:
  ZipFile zip_;
  PickledDocument document_;
};

}  // namespace hftrain::interchange
