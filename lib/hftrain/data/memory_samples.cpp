#include "hftrain/data/memory_samples.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/data/column_file.h"

namespace hftrain::data {
namespace {

Error no_floats() {
  return Error(ExitCode::kInternal, "a stream has columns of whole numbers alone");
}

class MemoryColumn final : public ColumnFile {
 public:
  MemoryColumn(const std::vector<MemorySample>& samples, size_t column)
      : samples_(samples), column_(column) {}

  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }
  int64_t length(int64_t sample) const override { return static_cast<int64_t>(numbers(sample).size()); }
  bool floats() const override { return false; }
  void copy_to(int64_t sample, int64_t* target) const override {
    const std::vector<int32_t>& held = numbers(sample);
    std::copy(held.begin(), held.end(), target);
  }
  void copy_to(int64_t, float*) const override { throw no_floats(); }

 private:
  const std::vector<int32_t>& numbers(int64_t sample) const {
    const auto found =
        std::lower_bound(samples_.begin(), samples_.end(), sample,
                         [](const MemorySample& one, int64_t number) { return one.number < number; });
    if (found != samples_.end() && found->number == sample) return (*found->columns)[column_];
    throw Error(ExitCode::kInternal, "sample " + std::to_string(sample) + " of a stream is not in its round");
  }

  std::vector<MemorySample> samples_;
  size_t column_;
};

}  // namespace

void MemoryWriter::add(std::span<const int32_t> sequence) {
  held_.emplace_back(sequence.begin(), sequence.end());
  ++sequences_;
  tokens_ += static_cast<int64_t>(sequence.size());
}

void MemoryWriter::add(std::span<const float>) {
  throw no_floats();
}

std::shared_ptr<const Dataset> dataset_of(const std::vector<std::string>& columns,
                                          const std::vector<MemorySample>& samples) {
  std::vector<Dataset::Column> held;
  for (size_t column = 0; column < columns.size(); ++column)
    held.push_back({columns[column], std::make_shared<MemoryColumn>(samples, column)});
  return std::make_shared<const Dataset>(std::move(held));
}

}  // namespace hftrain::data
