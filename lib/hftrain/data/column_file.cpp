#include "hftrain/data/column_file.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/column_format.h"

namespace hftrain::data {
namespace {

template <typename T>
T load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

Error broken(const std::string& path, std::string why) {
  return Error(ExitCode::kData, "cannot read a token file")
      .where(path)
      .why(std::move(why))
      .hint("write the pair of .bin and .idx again; one in the cache goes by `hftrain cache prune`");
}

template <typename T>
void widen(const char* source, int64_t count, int64_t* target) {
  for (int64_t i = 0; i < count; ++i) target[i] = static_cast<int64_t>(load<T>(source + i * sizeof(T)));
}

// How numbers of one type are read; nothing to widen floats with.
struct TokenReader {
  int64_t bytes;
  void (*copy)(const char* source, int64_t count, int64_t* target);
};

TokenReader reader_of(uint8_t code, const std::string& path) {
  switch (static_cast<NumberType>(code)) {
    case NumberType::kUint8:
      return {1, widen<uint8_t>};
    case NumberType::kInt8:
      return {1, widen<int8_t>};
    case NumberType::kInt16:
      return {2, widen<int16_t>};
    case NumberType::kInt32:
      return {4, widen<int32_t>};
    case NumberType::kInt64:
      return {8, widen<int64_t>};
    case NumberType::kUint16:
      return {2, widen<uint16_t>};
    case NumberType::kFloat32:
      return {4, nullptr};
  }
  throw broken(
      path, "type code " + std::to_string(code) + " is neither an integer type (1 to 5, 8) nor float32 (7)");
}

class MegatronDataset final : public ColumnFile {
 public:
  explicit MegatronDataset(const std::string& prefix) : index_(prefix + ".idx"), tokens_(prefix + ".bin") {
    const std::string_view bytes = index_.bytes();
    if (bytes.size() < kIndexHeaderBytes || !bytes.starts_with(kIndexMagic)) {
      throw broken(index_.path(), "it does not start with MMIDIDX");
    }
    const auto version = load<uint64_t>(bytes.data() + 9);
    if (version != kIndexVersion)
      throw broken(index_.path(), "version " + std::to_string(version) + " is not 1");
    reader_ = reader_of(load<uint8_t>(bytes.data() + 17), index_.path());
    const auto sequences = load<uint64_t>(bytes.data() + 18);
    const auto documents = load<uint64_t>(bytes.data() + 26);
    const uint64_t room = bytes.size() - kIndexHeaderBytes;
    const bool fits =
        sequences <= room / 12 && documents <= room / 8 && sequences * 12 + documents * 8 == room;
    if (!fits) {
      throw broken(index_.path(), "its size does not fit " + std::to_string(sequences) + " sequences and " +
                                      std::to_string(documents) + " documents");
    }
    size_ = static_cast<int64_t>(sequences);
    lengths_ = bytes.data() + kIndexHeaderBytes;
    offsets_ = lengths_ + 4 * sequences;
    if (size_ > 0) place_of(size_ - 1);  // a cut-off .bin file is noticed at once
  }

  int64_t size() const override { return size_; }

  int64_t length(int64_t sample) const override {
    if (sample < 0 || sample >= size_) {
      throw Error(ExitCode::kInternal, "sample " + std::to_string(sample) + " does not exist")
          .where(index_.path());
    }
    const auto length = load<int32_t>(lengths_ + 4 * sample);
    // Of a broken index before anybody makes room for so many.
    if (length < 0 ||
        static_cast<uint64_t>(length) > tokens_.bytes().size() / static_cast<uint64_t>(reader_.bytes))
      throw outside(sample);
    return length;
  }

  bool floats() const override { return reader_.copy == nullptr; }

  void copy_to(int64_t sample, int64_t* target) const override {
    if (floats()) throw broken(index_.path(), "it holds floats where whole numbers are wanted");
    reader_.copy(place_of(sample), length(sample), target);
  }

  void copy_to(int64_t sample, float* target) const override {
    if (!floats()) throw broken(index_.path(), "it holds whole numbers where floats are wanted");
    std::memcpy(target, place_of(sample), static_cast<size_t>(length(sample)) * sizeof(float));
  }

 private:
  const char* place_of(int64_t sample) const {
    const int64_t count = length(sample);
    const auto offset = load<int64_t>(offsets_ + 8 * sample);
    const auto available = static_cast<int64_t>(tokens_.bytes().size());
    if (offset < 0 || offset > available || count > (available - offset) / reader_.bytes)
      throw outside(sample);
    return tokens_.bytes().data() + offset;
  }

  Error outside(int64_t sample) const {
    return broken(tokens_.path(), "sequence " + std::to_string(sample) + " lies outside the " +
                                      std::to_string(tokens_.bytes().size()) + " bytes of the file");
  }

  MappedFile index_;
  MappedFile tokens_;
  TokenReader reader_{};
  int64_t size_ = 0;
  const char* lengths_ = nullptr;
  const char* offsets_ = nullptr;
};

}  // namespace

std::unique_ptr<ColumnFile> ColumnFile::open(const std::string& prefix) {
  return std::make_unique<MegatronDataset>(prefix);
}

}  // namespace hftrain::data
