#include "hftrain/reporting/console.h"

#include <cmath>
#include <ostream>

#include "hftrain/base/json_member.h"
#include "hftrain/reporting/event_text.h"

namespace hftrain::reporting {
namespace {

constexpr double kSecondsBetweenDraws = 0.1;
constexpr double kLongestSilence = 10;

constexpr const char* kClearLine = "\r\x1b[K";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kPlain = "\x1b[0m";

}  // namespace

void Console::line(std::string_view text) {
  if (style_.threshold <= LogLevel::kInfo) show(text);
}

void Console::show(std::string_view text) {
  if (!style_.quiet) result(text);
}

void Console::result(std::string_view text) {
  clear();
  // At once: who relays the bytes as they come may write between two pieces.
  write(text.empty() || text.back() != '\n' ? std::string(text) + '\n' : std::string(text));
  out_->flush();
  draw();
}

void Console::message(LogLevel level, std::string_view text) {
  if (level >= style_.threshold) say(level, text);
}

void Console::say(LogLevel level, std::string_view text) {
  const bool severe = level >= LogLevel::kError;
  if (level < LogLevel::kWarning) return show(text);
  const std::string word = level_word(level);
  const std::string painted = style_.color ? (severe ? kRed : kYellow) + word + kPlain : word;
  result(painted + ' ' + std::string(text));
}

void Console::event(std::string_view name, const Json& data, double time) {
  if (name == "progress") return on_progress(data, time);
  if (name == "step") {
    Json step = data;
    step["phase"] = "train";
    step["done"] = integer_of(data, "step");
    return on_progress(step, time);
  }
  if (name == "log") on_log(data);
  if (name == "checkpoint") on_checkpoint(data);
  if (name == "metrics") show(event_lines(name, data));
  if (name == "message") say(static_cast<LogLevel>(integer_of(data, "level")), json_text(data, "text"));
  last_output_ = time;
}

void Console::clear() {
  if (!live_) return;
  write(kClearLine);
  out_->flush();
  live_ = false;
}

void Console::on_progress(const Json& data, double time) {
  const std::string phase = json_text(data, "phase");
  ProgressState state = phase == "train" ? train_ : ProgressState{};
  state.phase = phase;
  state.done = integer_of(data, "done");
  state.total = integer_of(data, "total");
  const auto rate = number_of(data, "tokens_per_second"), bytes = number_of(data, "memory_bytes");
  if (rate && std::isfinite(*rate)) state.tokens_per_second = rate;
  if (bytes && std::isfinite(*bytes)) state.memory_bytes = static_cast<uint64_t>(*bytes);
  estimate(state, time);

  const bool ended = state.total > 0 && state.done >= state.total;
  if (phase == "train") train_ = state;
  // A phase that is over gives the live line back to training.
  shown_ = ended && phase != "train" ? train_ : state;
  if (ended) starts_.erase(phase);

  if (style_.progress == ProgressStyle::kBar && (ended || time - last_draw_ >= kSecondsBetweenDraws)) {
    last_draw_ = time;
    draw();
  }
  if (last_output_ == 0) last_output_ = time;
  if (style_.progress == ProgressStyle::kPlain && time - last_output_ >= kLongestSilence) {
    last_output_ = time;
    show(progress_line(state));
  }
}

void Console::on_log(const Json& data) {
  const std::string lines = event_lines("log", data);
  if (lines.empty()) return;
  const Json& record = data.at("record");
  if (const auto loss = number_of(record, "loss")) train_.loss = loss;
  if (const auto rate = number_of(record, "learning_rate")) train_.learning_rate = rate;
  if (shown_.phase == "train") shown_ = train_;
  show(lines);
}

void Console::on_checkpoint(const Json& data) {
  train_.last_save = integer_of(data, "step");
  if (shown_.phase == "train") shown_ = train_;
  line(event_lines("checkpoint", data));
}

void Console::estimate(ProgressState& state, double time) {
  const auto [start, first] = starts_.try_emplace(state.phase, PhaseStart{time, state.done});
  state.seconds_left.reset();
  const int64_t moved = state.done - start->second.done;
  if (first || moved <= 0 || state.total <= 0) return;
  state.seconds_left = (time - start->second.time) / static_cast<double>(moved) *
                       static_cast<double>(std::max<int64_t>(state.total - state.done, 0));
}

void Console::draw() {
  if (style_.progress != ProgressStyle::kBar || shown_.total + shown_.done == 0) return;
  // One column stays free: a full last column makes some terminals wrap.
  write(kClearLine + progress_bar(shown_, style_.width - 1));
  out_->flush();
  live_ = true;
}

void Console::write(std::string_view text) {
  *out_ << text;
}

}  // namespace hftrain::reporting
