#include "hftrain/reporting/console.h"

#include <cmath>
#include <sstream>

#include "golden.h"
#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::reporting {
namespace {

ConsoleStyle bar(int width = 80) {
  return {ProgressStyle::kBar, false, width};
}

Environment env(const std::map<std::string, std::string>& variables) {
  return Environment(variables);
}

Json progress(int64_t done, int64_t total, const char* phase = "train") {
  return {{"phase", phase}, {"done", done}, {"total", total}};
}

TEST_CASE("the training header has the Trainer's lines", "[reporting]") {
  CHECK(training_header({1234567, 3, 1500, 8, 1024, 1024, 4500, 124439808}) ==
        "***** Running training *****\n"
        "  Num examples = 1,234,567\n"
        "  Num Epochs = 3\n"
        "  Num update steps per epoch = 1,500\n"
        "  Instantaneous batch size per device = 8\n"
        "  Total train batch size (w. parallel, distributed & accumulation) = 1,024\n"
        "  Gradient Accumulation steps = 1024\n"
        "  Total optimization steps = 4,500\n"
        "  Number of trainable parameters = 124,439,808\n");
}

TEST_CASE("evaluation and resume headers", "[reporting]") {
  CHECK(evaluation_header("Evaluation", 2000, 1024) ==
        "\n***** Running Evaluation *****\n  Num examples = 2,000\n  Batch size = 1024\n");
  CHECK(evaluation_header("Prediction", std::nullopt, 8) ==
        "\n***** Running Prediction *****\n  Num examples: Unknown\n  Batch size = 8\n");
  CHECK_THAT(resume_header(1, 30, 4, false),
             Catch::StartsWith("  Resuming training from checkpoint with epoch 1 and global step 30\n"));
  CHECK_THAT(resume_header(1, 30, 4, true), Catch::Contains("start over"));
}

TEST_CASE("log lines are those of the Trainer", "[reporting]") {
  for (const Json& item : testing::golden("records.json")) {
    Json record = testing::restored(item.at("record"));
    CHECK(log_line(record) == item.at("line").get<std::string>());
    record["step"] = 5;
    record["time"] = 1.5;
    CHECK(log_line(record) == item.at("line").get<std::string>());
  }
}

TEST_CASE("a long text in a record is replaced by its length, and null is a number that is none",
          "[reporting]") {
  CHECK(log_line({{"note", std::string(101, 'x')}}) == "{'note': '[a text of 101 characters]'}");
  CHECK(log_line({{"note", std::string(100, 'x')}}).size() == 112);
  CHECK(log_line({{"loss", nullptr}}) == "{'loss': 'nan'}");
  CHECK(log_line({{"loss", INFINITY}, {"grad_norm", NAN}}) == "{'loss': 'inf', 'grad_norm': 'nan'}");
  CHECK(log_line(Json::object()) == "{}");
}

TEST_CASE("the live line fits its width and keeps what matters", "[reporting]") {
  ProgressState state;
  state.done = 120;
  state.total = 500;
  state.loss = 2.3456;
  state.learning_rate = 4.9e-05;
  state.tokens_per_second = 12345.6;
  state.memory_bytes = 3ULL << 30;
  state.seconds_left = 200;
  state.last_save = 100;
  CHECK(progress_bar(state, 120) ==
        "train 120/500 [=====>                  ] loss 2.346, lr 4.9e-05, 12,345 tokens/s, 3.0 GiB, 0:03:20 "
        "left, saved "
        "at 100");
  CHECK(progress_line(state) ==
        "train 120/500, loss 2.346, lr 4.9e-05, 12,345 tokens/s, 3.0 GiB, 0:03:20 left, saved at 100");
  for (int width = 0; width < 130; ++width)
    CHECK(progress_bar(state, width).size() <= static_cast<size_t>(width));
  state = ProgressState();
  state.phase = "prepare";
  state.done = 7;
  CHECK(progress_bar(state, 80) == "prepare 7");
  state.total = 7;
  CHECK(progress_bar(state, 40) == "prepare 7/7 [========================]");
}

TEST_CASE("where lines stay, no carriage return or escape is ever written", "[reporting]") {
  for (const ProgressStyle style : {ProgressStyle::kPlain, ProgressStyle::kNone}) {
    std::ostringstream out;
    {
      Console console(out, {style, false, 80});
      console.line(training_header({}));
      for (int step = 0; step <= 100; ++step) {
        console.event("progress", progress(step, 100), 1000 + step);
        console.event("log", {{"record", {{"loss", 2.5}}}}, 1000 + step);
      }
      console.event("checkpoint", {{"step", 100}, {"path", "out/checkpoint-100"}, {"seconds", 0.25}}, 1101);
      console.event("checkpoint",
                    {{"step", 100}, {"path", "out/b"}, {"seconds", 2.5}, {"stall_seconds", 0.125}}, 1101);
      console.event("message", {{"level", 30}, {"text", "careful"}}, 1102);
      console.event("finished", Json::object(), 1103);
    }
    CHECK(out.str().find_first_of("\r\x1b") == std::string::npos);
    CHECK_THAT(out.str(), Catch::Contains("\n{'loss': '2.5'}\n"));
    CHECK_THAT(out.str(),
               Catch::Contains("\nSaving model checkpoint to out/checkpoint-100 (committed after 0.25 s)\n"));
    CHECK_THAT(out.str(),
               Catch::Contains("checkpoint to out/b (committed after 2.5 s, training waited 0.125 s)\n"));
    CHECK_THAT(out.str(), Catch::EndsWith("warning: careful\n"));
  }
}

TEST_CASE("where lines stay, a silent phase tells how far it is every ten seconds", "[reporting]") {
  std::ostringstream out;
  Console console(out, {ProgressStyle::kPlain, false, 80});
  for (int second = 0; second <= 25; ++second)
    console.event("progress", progress(second, 50, "prepare"), 1000 + second);
  CHECK(out.str() == "prepare 10/50, 0:00:40 left\nprepare 20/50, 0:00:30 left\n");

  std::ostringstream quiet;
  Console none(quiet, {ProgressStyle::kNone, false, 80});
  for (int second = 0; second <= 25; ++second) none.event("progress", progress(second, 50), 1000 + second);
  CHECK(quiet.str().empty());
}

TEST_CASE("a quiet console shows warnings, errors and results only", "[reporting]") {
  std::ostringstream text;
  const Environment plain = env({{"TERM", "xterm"}, {"NO_COLOR", "1"}});
  Console console(text, choose_console_style({.is_terminal = true, .quiet = true}, plain));
  console.line("hftrain");
  console.message(LogLevel::kInfo, "note");
  console.event("step", {{"step", 1}, {"total", 2}}, 1);
  console.event("log", {{"record", {{"loss", 1.5}}}}, 2);
  console.message(LogLevel::kWarning, "short of memory");
  console.result("rank 1 was killed");
  CHECK(text.str() == "warning: short of memory\nrank 1 was killed\n");
}

TEST_CASE("on a terminal lines stand above one live line, which disappears at the end", "[reporting]") {
  std::ostringstream out;
  {
    Console console(out, bar());
    console.event("progress", progress(1, 10), 1000);
    console.event("log", {{"record", {{"loss", 2.5}, {"learning_rate", 0.001}}}}, 1000.05);
  }
  const std::string clear = "\r\x1b[K";
  CHECK(out.str() == clear + "train 1/10 [==>                     ]" +                         //
                         clear + "{'loss': '2.5', 'learning_rate': '0.001'}\n" +               //
                         clear + "train 1/10 [==>                     ] loss 2.5, lr 0.001" +  //
                         clear);
}

TEST_CASE("the live line is not redrawn more often than ten times a second", "[reporting]") {
  std::ostringstream out;
  Console console(out, bar());
  for (int i = 0; i < 1000; ++i) console.event("progress", progress(i, 2000), 1000 + i * 0.001);
  const std::string text = out.str();
  CHECK(std::count(text.begin(), text.end(), '\r') <= 11);
  console.event("progress", progress(2000, 2000), 1000.9991);
  CHECK_THAT(out.str(), Catch::Contains("2,000/2,000"));
}

TEST_CASE("an evaluation takes the live line and gives it back", "[reporting]") {
  std::ostringstream out;
  Console console(out, bar());
  console.event("progress", progress(5, 10), 1000);
  out.str("");
  console.event("progress", progress(1, 4, "eval"), 1001);
  CHECK_THAT(out.str(), Catch::Contains("eval 1/4"));
  out.str("");
  console.event("progress", progress(4, 4, "eval"), 1002);
  CHECK_THAT(out.str(), Catch::Contains("train 5/10"));
}

TEST_CASE("a finished step moves the live line like progress of training", "[reporting]") {
  std::ostringstream out;
  Console console(out, bar());
  console.event("step", {{"step", 3}, {"total", 12}}, 1000);
  CHECK_THAT(out.str(), Catch::Contains("train 3/12"));
}

TEST_CASE("a step tells the live line the tokens a second and the memory", "[reporting]") {
  std::ostringstream out;
  Console console(out, bar(120));
  console.event("step",
                {{"step", 3}, {"total", 12}, {"tokens_per_second", 1234.5}, {"memory_bytes", 3 << 20}}, 1000);
  CHECK_THAT(out.str(), Catch::Contains("1,234 tokens/s, 3.0 MiB"));
}

TEST_CASE("the log level hides notices, headers and warnings, never records, results and the end of a split",
          "[reporting]") {
  const auto shown_at = [](LogLevel threshold) {
    std::ostringstream out;
    Console console(out, choose_console_style({.threshold = threshold}, env({})));
    console.line("a header");
    console.message(LogLevel::kDebug, "a detail");
    console.message(LogLevel::kInfo, "a notice");
    console.message(LogLevel::kWarning, "a doubt");
    console.event("checkpoint", {{"step", 1}, {"path", "out"}, {"seconds", 1}}, 1);
    console.event("log", {{"record", {{"loss", 1.5}}}}, 2);
    console.event("metrics", {{"text", "***** train metrics *****\n"}}, 3);
    console.event("message", {{"level", 10}, {"text", "of a rank whose level is another"}}, 4);
    console.result("rank 1 was killed");
    return out.str();
  };
  const std::string always =
      "{'loss': '1.5'}\n***** train metrics *****\nof a rank whose level is another\nrank 1 was killed\n";
  CHECK(shown_at(LogLevel::kError) == always);
  CHECK(shown_at(LogLevel::kWarning) == "warning: a doubt\n" + always);
  const std::string info =
      "a header\na notice\nwarning: a doubt\nSaving model checkpoint to out (committed after 1 s)\n";
  CHECK(shown_at(LogLevel::kInfo) == info + always);
  CHECK(shown_at(LogLevel::kDebug) == "a header\na detail" + info.substr(8) + always);
}

TEST_CASE("counted tokens stand where the Trainer puts them", "[reporting]") {
  CHECK(log_line({{"epoch", 0.5},
                  {"loss", 2.0},
                  {"num_input_tokens_seen", 64},
                  {"train_runtime", 1.5},
                  {"train_tokens_per_second", 42.25}}) ==
        "{'loss': '2', 'epoch': '0.5', 'num_input_tokens_seen': 64, 'train_runtime': '1.5', "
        "'train_tokens_per_second': '42.25'}");
}

TEST_CASE("the time left counts from where this run began", "[reporting]") {
  std::ostringstream out;
  Console console(out, bar(200));
  console.event("progress", progress(80, 100), 1000);
  console.event("progress", progress(90, 100), 1020);
  CHECK_THAT(out.str(), Catch::Contains("0:00:20 left"));
}

TEST_CASE("a malformed event changes nothing", "[reporting]") {
  std::ostringstream out;
  Console console(out, bar());
  console.event("progress", {{"phase", 3}, {"done", "x"}}, 1000);
  console.event("log", {{"record", 7}}, 1000);
  console.event("unheard of", Json::object(), 1000);
  CHECK(out.str().empty());
}

TEST_CASE("severity is coloured only when colour is on", "[reporting]") {
  std::ostringstream out;
  Console console(out, {ProgressStyle::kPlain, true, 80});
  console.message(LogLevel::kWarning, "hot");
  console.message(LogLevel::kError, "broken");
  console.message(LogLevel::kInfo, "fine");
  CHECK(out.str() == "\x1b[33mwarning:\x1b[0m hot\n\x1b[31merror:\x1b[0m broken\nfine\n");
}

TEST_CASE("the style follows flags, terminal and environment", "[reporting]") {
  const Environment plain = env({{"TERM", "xterm"}});
  const auto style = [](ConsoleRequest request, const Environment& environment) {
    return choose_console_style(request, environment);
  };
  CHECK(style({.is_terminal = true}, plain).progress == ProgressStyle::kBar);
  CHECK(style({.is_terminal = true}, plain).color);
  CHECK(style({.is_terminal = false}, plain).progress == ProgressStyle::kPlain);
  CHECK_FALSE(style({.is_terminal = false}, plain).color);
  CHECK(style({.progress = "bar", .is_terminal = false}, plain).progress == ProgressStyle::kPlain);
  CHECK(style({.progress = "plain", .is_terminal = true}, plain).progress == ProgressStyle::kPlain);
  CHECK(style({.progress = "none", .is_terminal = true}, plain).progress == ProgressStyle::kNone);
  CHECK(style({.disable_tqdm = true, .is_terminal = true}, plain).progress == ProgressStyle::kNone);
  CHECK(style({.color = "always"}, plain).color);
  CHECK_FALSE(style({.color = "never", .is_terminal = true}, env({{"FORCE_COLOR", "1"}})).color);
  CHECK(style({}, env({{"FORCE_COLOR", "1"}, {"NO_COLOR", "1"}})).color);
  CHECK_FALSE(style({.is_terminal = true}, env({{"NO_COLOR", "1"}})).color);
  CHECK(style({.is_terminal = true}, env({{"NO_COLOR", ""}})).color);
  const ConsoleStyle dumb = style({.is_terminal = true}, env({{"TERM", "dumb"}}));
  CHECK(dumb.progress == ProgressStyle::kPlain);
  CHECK_FALSE(dumb.color);
  CHECK_REFUSED(style({.progress = "fancy"}, plain), "does not know 'fancy'");
  CHECK_REFUSED(style({.color = "red"}, plain), "does not know 'red'");
}

}  // namespace
}  // namespace hftrain::reporting
