#include "hftrain/data/memory_samples.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/data/column_file.h"

namespace hftrain::data {
namespace {

class MemoryColumn final : public ColumnFile {
 public:
  MemoryColumn(const std::vector<MemorySample>& samples, size_t column)
      : samples_(samples), column_(column) {}

  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }
  int64_t length(int64_t sample) const override {
    return std::visit([](const auto& held) { return static_cast<int64_t>(held.size()); }, sequence(sample));
  }
  // A column has one type in all samples.
  bool floats() const override {
    return !samples_.empty() &&
           std::holds_alternative<std::vector<float>>((*samples_.front().columns)[column_]);
  }
  void copy_to(int64_t sample, int64_t* target) const override { copy<int32_t>(sample, target); }
  void copy_to(int64_t sample, float* target) const override { copy<float>(sample, target); }

 private:
  template <typename Held, typename Wanted>
  void copy(int64_t sample, Wanted* target) const {
    const auto* held = std::get_if<std::vector<Held>>(&sequence(sample));
    if (held == nullptr)
      throw Error(ExitCode::kInternal, "a column of a stream holds numbers of another kind than are wanted");
    std::copy(held->begin(), held->end(), target);
  }

  const MemorySequence& sequence(int64_t sample) const {
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

std::shared_ptr<const Dataset> dataset_of(const std::vector<std::string>& columns,
                                          const std::vector<MemorySample>& samples) {
  std::vector<Dataset::Column> held;
  for (size_t column = 0; column < columns.size(); ++column)
    held.push_back({columns[column], std::make_shared<MemoryColumn>(samples, column)});
  return std::make_shared<const Dataset>(std::move(held));
}

}  // namespace hftrain::data
