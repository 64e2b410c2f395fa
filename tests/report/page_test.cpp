#include "hftrain/report/page.h"

#include <cmath>

#include "hftrain/report/html.h"
#include "support/catch.h"

namespace hftrain::report {
namespace {

Run a_run(const std::string& name, double loss) {
  Run run;
  run.name = name;
  run.folder = "/runs/" + name;
  run.state = "finished";
  for (const int step : {1, 2, 3}) run.log.add({{"step", step}, {"time", 100 + step}, {"loss", loss / step}});
  run.arguments = {{"learning_rate", loss}, {"seed", 42}};
  run.arguments_text = "# command line: hftrain\nlearning_rate: 0.5 # --learning_rate\nseed: 42  # default\n";
  return run;
}

bool holds(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

TEST_CASE("texts of a run cannot become part of the page's language", "[report]") {
  const std::string hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  Run run = a_run(hostile, 1.5);
  run.log.add({{"step", 4}, {hostile, 1}});
  run.log.add({{"step", 5}, {hostile, 2}});
  run.events.push_back({{"event", hostile}, {"time", 1}, {hostile, hostile}});
  run.checkpoints.push_back(hostile);
  run.arguments_text = "run_name: " + hostile + " # --run_name\n";
  run.plan = {{"x", hostile}};
  const std::string page = page_of({run}, PageKind::kFile);
  CHECK_FALSE(holds(page, "<img"));
  CHECK_FALSE(holds(page, "<script>alert"));
  size_t scripts = 0;
  for (size_t at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1))
    ++scripts;
  CHECK(scripts == 2);  // the data and the page's own
}

TEST_CASE("a page is complete in itself", "[report]") {
  const std::string page = page_of({a_run("one", 1.5)}, PageKind::kFile);
  CHECK(is_page(page));
  CHECK(holds(page, "connect-src 'none'"));
  CHECK(holds(page, "\"live\": false"));
  for (const char* outside : {"http:", "https:", "src=", "href=", "url(", "@import"}) {
    CAPTURE(outside);
    const std::string address = "http://www.w3.org/2000/svg";  // a name, which nothing fetches
    std::string rest = page;
    rest.erase(rest.find(address), address.size());
    CHECK_FALSE(holds(rest, outside));
  }
  CHECK(holds(page_of({a_run("one", 1)}, PageKind::kLive), "connect-src 'self'"));
}

TEST_CASE("numbers stand in the page as text", "[report]") {
  const std::string page = page_of({a_run("one", 1.5)}, PageKind::kFile);
  CHECK(holds(page, "<th>loss</th><td>0.5</td><td>0.5 at 3</td><td>1.5 at 1</td><td>3</td>"));
  CHECK(holds(page, "learning_rate: 0.5 # --learning_rate"));
  CHECK(holds(page, R"("title": "loss")"));
}

TEST_CASE("what is no number is neither the lowest nor the highest value", "[report]") {
  Run run = a_run("one", 1.5);
  run.log = {};
  int step = 0;
  for (const double value : {std::nan(""), 2.0, 1.0, std::nan(""), 3.0, std::nan("")})
    run.log.add({{"step", ++step}, {"loss", value}});
  CHECK(holds(page_of({run}, PageKind::kFile),
              "<th>loss</th><td>nan</td><td>1 at 3</td><td>3 at 5</td><td>6</td>"));
}

TEST_CASE("runs side by side show their newest values and the flags that differ", "[report]") {
  const std::string page = page_of({a_run("one", 1.5), a_run("two", 3)}, PageKind::kFile);
  CHECK(holds(page, "<th>loss</th><td>0.5</td><td>1</td>"));
  CHECK(holds(page, "<th>learning_rate</th><td>1.5</td><td>3</td>"));
  CHECK_FALSE(holds(page, "<th>seed</th>"));
  const std::string alike = page_of({a_run("one", 1), a_run("one", 2)}, PageKind::kFile);
  CHECK(holds(alike, "one #1"));
  CHECK(holds(alike, "one #2"));
}

TEST_CASE("a run without a record has a page", "[report]") {
  Run run;
  run.name = "young";
  CHECK(holds(page_of({run}, PageKind::kFile), "<th>young</th>"));
}

TEST_CASE("phases show where the time went, failed attempts among it", "[report]") {
  Run run = a_run("one", 1);
  run.summary = Json::parse(R"({"seconds": 100, "phases": {"load": 5, "train": 50, "save": 10},
      "attempts": [{"attempt": 0, "seconds": 30}, {"attempt": 1, "seconds": 66}]})");
  const std::string page = page_of({run}, PageKind::kFile);
  CHECK(holds(page, "attempts that failed <b>30 s</b> 30.00%"));
  CHECK(holds(page, "train <b>50 s</b> 50.00%"));
  CHECK(holds(page, "rest <b>5 s</b> 5.00%"));
}

TEST_CASE("training is shown by its parts where they were measured", "[report]") {
  Run run = a_run("one", 1);
  run.summary = Json::parse(R"({"seconds": 100, "phases": {"load": 5, "train": 80, "data": 4, "forward": 20,
      "backward": 40, "communication": 8, "optimizer": 6, "save": 10}})");
  const std::string page = page_of({run}, PageKind::kFile);
  CHECK(holds(page, "data <b>4 s</b> 4.00%"));
  CHECK(holds(page, "forward <b>20 s</b> 20.00%"));
  CHECK(holds(page, "backward <b>40 s</b> 40.00%"));
  CHECK(holds(page, "communication <b>8 s</b> 8.00%"));
  CHECK(holds(page, "optimizer <b>6 s</b> 6.00%"));
  CHECK(holds(page, "rest of training <b>2 s</b> 2.00%"));
  CHECK(holds(page, "rest <b>5 s</b> 5.00%"));
  CHECK_FALSE(holds(page, "</i>train <b>"));
}

TEST_CASE("numbers for people", "[report]") {
  CHECK(number_text(0.00012) == "0.00012");
  CHECK(number_text(123456789) == "123456789");
  CHECK(number_text(2.34567891) == "2.34568");
  CHECK(number_text(-1.0 / 0.0) == "-inf");
}

}  // namespace
}  // namespace hftrain::report
