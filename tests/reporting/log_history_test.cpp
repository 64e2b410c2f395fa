#include "hftrain/reporting/log_history.h"

#include <malloc.h>

#include "hftrain/reporting/python_text.h"
#include "support/catch.h"

namespace hftrain::reporting {

TEST_CASE("a history gives back the records that it was given, as Python would write them", "[reporting]") {
  const Json records = {{{"loss", 2.5}, {"step", 1}, {"epoch", 1e-05}},
                        {{"eval_loss", std::numeric_limits<double>::infinity()}, {"step", 2}},
                        {{"note", "two\nlines, \"quotes\" and \u00e9"},
                         {"nested", {{"a", {1, 2}}}},
                         {"empty", Json::object()}}};
  const LogHistory history(records);
  CHECK(python_json({{"log_history", records}}, 2) == "{\n  \"log_history\": " + history.text() + "\n}");
  CHECK(LogHistory(history.records()).text() == history.text());
  CHECK(history.records().size() == 3);
}

TEST_CASE("a history without records is an empty list", "[reporting]") {
  CHECK(LogHistory().text() == "[]");
  CHECK(LogHistory(Json(nullptr)).text() == "[]");
  CHECK(LogHistory().records() == Json::array());
}

TEST_CASE("a logged record takes less memory than its text", "[reporting]") {
  LogHistory history;
  const size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  constexpr size_t kRecords = 10'000;
  for (size_t step = 1; step <= kRecords; ++step) {
    history.add({{"epoch", 0.001 * static_cast<double>(step)},
                 {"grad_norm", 1.25},
                 {"learning_rate", 4.9e-05},
                 {"loss", 2.345678901234567},
                 {"step", step}});
  }
  const size_t taken = ::mallinfo2().uordblks + ::mallinfo2().hblkhd - before;
  INFO(taken);
  CHECK(taken < history.text().size() / 2);
  CHECK(history.records().size() == kRecords);
  CHECK(history.records().back()["step"] == kRecords);
}

}  // namespace hftrain::reporting
