#include "launcher/process/output_router.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::launcher {
namespace {

Error bad_value(const std::string& flag, const std::string& value, const std::string& expected,
                const std::string& example) {
  return Error(ExitCode::kUsage, "bad value '" + value + "'")
      .where(flag)
      .why("expected " + expected)
      .hint(flag + ' ' + example);
}

int stream_bits(const std::string& flag, std::string_view text, const std::string& whole) {
  const std::optional<int> bits = whole_number(text);
  if (!bits || *bits > 3) throw bad_value(flag, whole, "0, 1, 2 or 3, or pairs like 0:3,1:2", "3");
  return *bits;
}

// Below what agents wait for each other.
constexpr double kOpenSeconds = 4;
constexpr double kDrainSeconds = 4;

}  // namespace

OutputFilter::Streams::Streams(const std::string& flag, const std::string& text) {
  if (text.find(':') == std::string::npos) {
    of_others = stream_bits(flag, trim(text), text);
    return;
  }
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> pair = split(part, ':');
    const std::optional<int> rank = pair.size() == 2 ? whole_number(trim(pair[0])) : std::nullopt;
    if (!rank) throw bad_value(flag, text, "0, 1, 2 or 3, or pairs like 0:3,1:2", "0:3,1:2");
    of_rank[*rank] = stream_bits(flag, trim(pair[1]), text);
  }
}

bool OutputFilter::Streams::holds(int rank, Stream stream) const {
  const auto own = of_rank.find(rank);
  const int bits = own == of_rank.end() ? of_others : own->second;
  return (bits & (stream == Stream::kOut ? 1 : 2)) != 0;
}

OutputFilter::OutputFilter(const std::string& ranks, const std::string& tee, const std::string& redirects)
    : all_ranks_(ranks == "all"), tee_("--tee", tee), redirects_("--redirects", redirects) {
  if (all_ranks_ || trim(ranks).empty()) return;
  for (const std::string& part : split(ranks, ',')) {
    const std::optional<int> rank = whole_number(trim(part));
    if (!rank) throw bad_value("--log_ranks", ranks, "'all' or ranks separated by commas", "0,1");
    ranks_.push_back(*rank);
  }
}

bool OutputFilter::shows(int rank, Stream stream) const {
  if (kept_ && !kept_->contains(rank)) return false;
  const bool named = all_ranks_ || std::find(ranks_.begin(), ranks_.end(), rank) != ranks_.end();
  const auto found = local_ranks_.find(rank);
  const int local = found == local_ranks_.end() ? rank : found->second;
  return tee_.holds(local, stream) || (named && !redirects_.holds(local, stream));
}

OutputRouter::OutputRouter(OutputSpec spec, std::vector<int> ranks, LineSink lines, NoticeSink notices)
    : spec_(std::move(spec)),
      lines_(std::move(lines)),
      notices_(std::move(notices)),
      writer_(plan_files(ranks)) {
  writer_.wait_until_open(kOpenSeconds);
}

std::vector<std::string> OutputRouter::plan_files(const std::vector<int>& ranks) {
  std::vector<std::string> paths;
  for (const int rank : ranks) {
    for (const Stream stream : {Stream::kOut, Stream::kErr}) {
      channels_[{rank, stream}].file = paths.size();
      paths.push_back(log_path(rank, stream));
    }
  }
  for (const auto& [stream, texts] : spec_.duplicated) {
    if (texts.empty()) continue;
    duplicates_[stream] = paths.size();
    paths.push_back(duplicate_path(stream));
  }
  return paths;
}

void OutputRouter::pass_notices() {
  for (const std::string& notice : writer_.take_notices()) notices_(notice);
}

void OutputRouter::drain() {
  const bool written = writer_.drain(kDrainSeconds);
  pass_notices();
  if (!written)
    notices_("the logs under " + spec_.folder + " are still being written: their ends may be missing");
}

std::string OutputSpec::log_path(int rank, Stream stream) const {
  return folder + '/' + std::to_string(rank) + (stream == Stream::kOut ? "/stdout.log" : "/stderr.log");
}

std::string OutputRouter::folder_of(int rank) const {
  return spec_.folder + '/' + std::to_string(rank);
}

std::string OutputRouter::duplicate_path(Stream stream) const {
  return spec_.folder + (stream == Stream::kOut ? "/filtered_stdout" : "/filtered_stderr") + spec_.machine +
         ".log";
}

void OutputRouter::write(int rank, Stream stream, std::string_view bytes) {
  Channel& channel = channels_.at({rank, stream});
  writer_.append(channel.file, bytes);
  if (!bytes.empty()) channel.within_line = bytes.back() != '\n';
  pass_notices();
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    const size_t room = kLongestLine - channel.unfinished.size();
    const size_t taken = std::min({newline, bytes.size(), room});
    channel.unfinished.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    const bool ended = !bytes.empty() && bytes.front() == '\n';
    if (!ended && channel.unfinished.size() < kLongestLine) break;
    if (ended) bytes.remove_prefix(1);
    take_line(rank, stream, channel.unfinished);
    channel.unfinished.clear();
  }
}

void OutputRouter::hear(const plan::WorkerEvent& event) {
  Channel& channel = channels_.at({event.rank, Stream::kErr});
  const std::string lines = spec_.words ? spec_.words(event) : "";
  if (lines.empty() || !channel.is_open) return;
  writer_.append(channel.file, channel.within_line ? '\n' + lines : lines);
  channel.within_line = false;
  pass_notices();
  for (const std::string& line : split(lines.substr(0, lines.size() - 1), '\n'))
    duplicate(event.rank, Stream::kErr, line);
}

void OutputRouter::finish(int rank, Stream stream) {
  Channel& channel = channels_.at({rank, stream});
  if (!channel.unfinished.empty()) take_line(rank, stream, channel.unfinished);
  channel.unfinished.clear();
  channel.is_open = false;
  writer_.close(channel.file);
}

void OutputRouter::take_line(int rank, Stream stream, std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (const size_t redraw = line.rfind('\r'); redraw != std::string_view::npos)
    line.remove_prefix(redraw + 1);
  duplicate(rank, stream, line);
  std::deque<std::string>& kept = kept_[rank];
  kept.emplace_back(line);
  if (kept.size() > kKeptLines) kept.pop_front();
  if (spec_.filter.shows(rank, stream) && !muted_.contains(rank)) lines_({rank, stream, std::string(line)});
}

void OutputRouter::duplicate(int rank, Stream stream, std::string_view line) {
  const auto file = duplicates_.find(stream);
  if (file == duplicates_.end()) return;
  const std::vector<std::string>& texts = spec_.duplicated.at(stream);
  const bool wanted = std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
    return line.find(text) != std::string_view::npos;
  });
  if (!wanted) return;
  writer_.append(file->second, "[rank " + std::to_string(rank) + "] " + std::string(line) + '\n');
}

std::vector<std::string> OutputRouter::last_lines(int rank) const {
  const auto kept = kept_.find(rank);
  if (kept == kept_.end()) return {};
  return {kept->second.begin(), kept->second.end()};
}

}  // namespace hftrain::launcher
