#include "hftrain/interchange/torch_file.h"

#include <cstring>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/printable.h"
#include "hftrain/interchange/pickle_reader.h"

namespace hftrain::interchange {
namespace {

constexpr std::string_view kPickle = "data.pkl";

// All entries lie in one folder, which has the file's first name.
std::string folder_of(const ZipFile& zip) {
  for (const auto& [name, entry] : zip.entries()) {
    const size_t slash = name.find('/');
    if (slash != std::string::npos && std::string_view(name).substr(slash + 1) == kPickle)
      return name.substr(0, slash + 1);
  }
  throw not_a_torch_file(zip.path(), "it holds no data.pkl");
}

void require_little_endian(const ZipFile& zip, const std::string& folder) {
  const ZipEntry* order = zip.find(folder + "byteorder");
  if (order == nullptr || order->bytes == "little") return;
  throw not_a_torch_file(zip.path(), "its numbers are not little-endian");
}

PickledDocument read_document(const ZipFile& zip, RecordNames records) {
  const std::string folder = folder_of(zip), pickle = folder + std::string(kPickle);
  require_little_endian(zip, folder);
  zip.check(pickle);
  return read_pickle(
      zip.find(pickle)->bytes, zip.path(),
      [&](const std::string& key) -> std::optional<std::string_view> {
        const ZipEntry* entry = zip.find(folder + "data/" + key);
        return entry == nullptr ? std::nullopt : std::optional(entry->bytes);
      },
      records);
}

}  // namespace

TorchFile::TorchFile(const std::string& path, RecordNames records)
    : zip_(path), document_(read_document(zip_, records)) {}

TorchFile::TorchFile(std::string origin, std::string_view bytes)
    : zip_(std::move(origin), bytes), document_(read_document(zip_, {})) {}

void TorchFile::check() const {
  for (const auto& [name, entry] : zip_.entries()) zip_.check(name);
}

const PickledValue& TorchValue::value() const {
  return document_->values[position_];
}

void TorchValue::refuse(const char* what, const char* wanted) const {
  throw Error(ExitCode::kData, "not the state that the Trainer writes")
      .where(document_->origin)
      .why(std::string(what) + " is " + kind_name(kind()) + " and not " + wanted)
      .hint(
          "use a checkpoint of the Trainer's; --model_name_or_path starts a new run from its weights alone");
}

int64_t TorchValue::integer(const char* what) const {
  if (kind() != Kind::kInteger && kind() != Kind::kBool) refuse(what, "a whole number");
  return value().integer;
}

double TorchValue::number(const char* what) const {
  if (kind() == Kind::kInteger) return static_cast<double>(value().integer);
  if (kind() == Kind::kTensor) {
    const PickledTensor& one = tensor(what);
    float single = 0;
    if (one.dtype != storage::DType::kF32 || one.bytes.size() != sizeof single) refuse(what, "a number");
    std::memcpy(&single, one.bytes.data(), sizeof single);
    return single;
  }
  if (kind() != Kind::kFloat) refuse(what, "a number");
  return value().number;
}

const std::string& TorchValue::text(const char* what) const {
  if (kind() != Kind::kText) refuse(what, "a text");
  return value().text;
}

const PickledTensor& TorchValue::tensor(const char* what) const {
  if (kind() != Kind::kTensor) refuse(what, "a tensor");
  return document_->tensors[static_cast<size_t>(value().integer)];
}

size_t TorchValue::count(const char* what) const {
  if (kind() == Kind::kDict) return value().items.size() / 2;
  if (kind() != Kind::kList && kind() != Kind::kTuple) refuse(what, "a list");
  return value().items.size();
}

std::vector<TorchValue> TorchValue::items(const char* what) const {
  if (kind() != Kind::kList && kind() != Kind::kTuple) refuse(what, "a list");
  std::vector<TorchValue> items;
  for (const uint32_t item : value().items) items.emplace_back(*document_, item);
  return items;
}

std::vector<std::pair<TorchValue, TorchValue>> TorchValue::pairs(const char* what) const {
  if (kind() != Kind::kDict) refuse(what, "a dict");
  std::vector<std::pair<TorchValue, TorchValue>> pairs;
  const std::vector<uint32_t>& items = value().items;
  for (size_t i = 0; i + 1 < items.size(); i += 2)
    pairs.emplace_back(TorchValue(*document_, items[i]), TorchValue(*document_, items[i + 1]));
  return pairs;
}

std::optional<TorchValue> TorchValue::find(std::string_view key) const {
  std::optional<TorchValue> found;
  if (kind() != Kind::kDict) return found;
  for (const auto& [name, item] : pairs("a dict")) {
    if (name.kind() == Kind::kText && name.text("a key") == key) found = item;
  }
  return found;
}

const std::string& TorchValue::type() const {
  static const std::string kNone;
  return kind() == Kind::kRecord ? value().text : kNone;
}

TorchValue TorchValue::arguments(const char* what) const {
  if (kind() != Kind::kRecord || value().items.empty()) refuse(what, "an object");
  return {*document_, value().items[0]};
}

TorchValue TorchValue::state(const char* what) const {
  if (kind() != Kind::kRecord || value().items.size() != 2) refuse(what, "an object with a state");
  return {*document_, value().items[1]};
}

TorchValue TorchValue::at(std::string_view key) const {
  const std::optional<TorchValue> found = find(key);
  if (found) return *found;
  throw Error(ExitCode::kData, "not the state that the Trainer writes")
      .where(document_->origin)
      .why("there is no '" + printable(key) + "' in it")
      .hint(
          "use a checkpoint of the Trainer's; --model_name_or_path starts a new run from its weights alone");
}

}  // namespace hftrain::interchange
