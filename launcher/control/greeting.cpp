#include "launcher/control/greeting.h"

#include <utility>

namespace hftrain::launcher {
namespace {

constexpr std::string_view kStart = "hftrain 1 ";
constexpr std::string_view kRefused = "refused";

// The text up to the next space, which is taken away with it.
std::string_view take_word(std::string_view& text) {
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

bool take_start(std::string_view& line) {
  if (line.size() > kLongestGreeting || !line.starts_with(kStart)) return false;
  line.remove_prefix(kStart.size());
  return true;
}

std::string json_of(const Message& message) {
  std::string line = encode_message(message);
  line.pop_back();
  return line;
}

template <typename Wanted>
std::optional<Wanted> read_as(std::string_view text) {
  std::optional<Message> message = decode_message(text);
  if (!message || !std::holds_alternative<Wanted>(*message)) return std::nullopt;
  return std::get<Wanted>(std::move(*message));
}

}  // namespace

std::string challenge_line(const Challenge& challenge) {
  return std::string(kStart) + challenge.number + (challenge.secret ? " secret\n" : " open\n");
}

std::optional<Challenge> read_challenge(std::string_view line) {
  if (!take_start(line)) return std::nullopt;
  const std::string_view number = take_word(line);
  if (!is_random_number(number) || (line != "secret" && line != "open")) return std::nullopt;
  return Challenge{std::string(number), line == "secret"};
}

std::string hello_line(const Hello& hello, const JobKey& key, const Challenge& challenge,
                       const std::string& number) {
  const std::string text = json_of(hello);
  return std::string(kStart) + number + ' ' +
         key.proof(JobKey::Side::kFollower, challenge.number, number, text) + ' ' + text + '\n';
}

std::optional<HelloLine> split_hello(std::string_view line) {
  if (!take_start(line)) return std::nullopt;
  HelloLine parts;
  parts.number = take_word(line);
  parts.proof = take_word(line);
  parts.text = line;
  if (!is_random_number(parts.number) || parts.proof.empty()) return std::nullopt;
  return parts;
}

std::optional<Hello> read_hello(std::string_view text) {
  return read_as<Hello>(text);
}

std::string welcome_line(const Welcome& welcome, const JobKey& key, const Challenge& challenge,
                         std::string_view number) {
  const std::string text = json_of(welcome);
  return std::string(kStart) + key.proof(JobKey::Side::kLeader, challenge.number, number, text) + ' ' + text +
         '\n';
}

std::string refusal_line(Refusal refusal, const JobKey& key, const Challenge& challenge,
                         std::string_view number) {
  constexpr size_t kRoom = kLongestGreeting / 8;  // a byte takes at most six in JSON
  while (true) {
    const std::string text = json_of(refusal);
    const std::string proof =
        number.empty() ? "-" : key.proof(JobKey::Side::kLeader, challenge.number, number, text);
    const std::string line = std::string(kStart) + std::string(kRefused) + ' ' + proof + ' ' + text + '\n';
    if (line.size() <= kLongestGreeting) return line;
    refusal.text.resize(std::max(refusal.text.size() / 2, std::min(refusal.text.size(), kRoom)));
  }
}

Answer read_answer(std::string_view line, const JobKey& key, const Challenge& challenge,
                   const std::string& number) {
  if (!take_start(line)) return {};
  const std::string_view word = take_word(line);
  const bool refused = word == kRefused;
  const std::string_view proof = refused ? take_word(line) : word;
  const bool proven = key.proves(proof, JobKey::Side::kLeader, challenge.number, number, line);
  if (refused) return {std::nullopt, read_as<Refusal>(line), proven || key.empty()};
  if (!proven) return {};
  return {read_as<Welcome>(line), std::nullopt, true};
}

}  // namespace hftrain::launcher
