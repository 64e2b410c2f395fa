#include "hftrain/trainer/stream_remarks.h"

#include <memory>
#include <string>
#include <vector>

#include "support/catch.h"

namespace hftrain::trainer {
namespace {

using Told = std::vector<std::string>;

// Of which a test says what there is to tell.
class TalkingEncoder final : public data::Encoder {
 public:
  data::FeatureSchema schema() const override { return {}; }
  void encode(const data::Records&, data::Features&) const override {}
  std::vector<data::Remark> remarks() const override { return made; }

  std::vector<data::Remark> made;
};

struct RemarksFixture {
  std::shared_ptr<TalkingEncoder> encoder = std::make_shared<TalkingEncoder>();
  Told told;
  StreamRemarks remarks{encoder, [this](const std::string& remark) { told.push_back(remark); }};
};

}  // namespace

TEST_CASE("what is to be said of rows of a stream is told when it arises, and the whole of it at the end") {
  RemarksFixture fixture;
  fixture.remarks.look(0);
  CHECK(fixture.told.empty());
  fixture.encoder->made = {{"cut", "1 row is cut"}};
  fixture.remarks.look(1);
  CHECK(fixture.told == Told{"the training data so far: 1 row is cut"});
  fixture.encoder->made = {{"cut", "2 rows are cut"}, {"empty", "1 row is empty"}};
  fixture.remarks.look(2);
  CHECK(fixture.told.size() == 2);
  CHECK(fixture.told.back() == "the training data so far: 1 row is empty");
  fixture.remarks.end();
  CHECK(fixture.told.size() == 3);
  CHECK(fixture.told.back() == "the training data: 2 rows are cut");
  fixture.encoder->made.front().sentence = "4 rows are cut";  // in the second epoch
  fixture.remarks.look(1e6);
  fixture.remarks.end();
  CHECK(fixture.told.size() == 3);
}

TEST_CASE("counts of rows are told again after a minute, and then after twice as long each time") {
  RemarksFixture fixture;
  std::vector<int> at;
  for (int second = 0; second < 1000; ++second) {
    fixture.encoder->made = {{"cut", std::to_string(second) + " rows are cut"}};
    fixture.remarks.look(second);
    if (fixture.told.size() > at.size()) at.push_back(second);
  }
  CHECK(at == std::vector<int>{0, 60, 180, 420, 900});
  CHECK(fixture.told.back() == "the training data so far: 900 rows are cut");
}

}  // namespace hftrain::trainer
