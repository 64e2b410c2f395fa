#include "hftrain/data/shuffling_sink.h"

#include <atomic>
#include <filesystem>
#include <memory>

#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::data {
namespace {

// Asks for a stop at the sample that it is told, and counts.
struct StoppingSink final : FeatureSink {
  StoppingSink(int stops_at, std::atomic<bool>& stop, int& samples, bool& finished)
      : stops_at_(stops_at), stop_(stop), samples_(samples), finished_(finished) {}
  void add(const Features&) override { stop_ = ++samples_ == stops_at_; }
  void end_group() override {}
  void finish() override { finished_ = true; }
  bool full() const override { return false; }
  bool at_rest() const override { return true; }
  int64_t tokens_seen() const override { return 0; }

 private:
  int stops_at_;
  std::atomic<bool>& stop_;
  int& samples_;
  bool& finished_;
};

}  // namespace

TEST_CASE("Samples that are put into another order are handed on until a stop is asked for") {
  const testing::TemporaryDirectory folder;
  for (const int stops_at : {0, 3}) {
    std::atomic<bool> stop = false;
    int samples = 0;
    bool finished = false;
    {
      ShufflingSink sink({{kInputIds}}, folder / "rows", 256, 42, std::nullopt, &stop,
                         std::make_unique<StoppingSink>(stops_at, stop, samples, finished));
      Features one{.columns = std::vector<FeatureValues>(1)};
      one.columns.front().integers = {1, 2};
      one.columns.front().lengths = {2};
      for (int i = 0; i < 9; ++i) sink.add(one);
      sink.finish();
    }
    CHECK(samples == (stops_at == 0 ? 9 : stops_at));
    CHECK(finished == (stops_at == 0));
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

}  // namespace hftrain::data
