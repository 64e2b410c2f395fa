// The first lines of a connection between agents, read before anybody has proven anything: as a challenge, as a follower's
// greeting and as agent 0's answer, with a secret and without. What is understood means the same when it is said again, and
// nobody is believed in a job with a secret who does not know it.
#include <string>
#include <string_view>

#include "fuzz.h"
#include "launcher/control/greeting.h"

using namespace hftrain;            // NOLINT(google-build-using-namespace): a program of one page
using namespace hftrain::launcher;  // NOLINT(google-build-using-namespace)

namespace {

const Challenge kAsks{std::string(32, 'a'), true};
const std::string kNumber(32, 'b');

void demand(bool holds) {
  if (!holds) __builtin_trap();
}

std::string_view without_newline(const std::string& line) {
  demand(line.ends_with('\n'));
  return std::string_view(line).substr(0, line.size() - 1);
}

void read_as_challenge(std::string_view line) {
  const auto challenge = read_challenge(line);
  if (challenge) demand(without_newline(challenge_line(*challenge)) == line);
}

void read_as_hello(std::string_view line, const JobKey& secret) {
  const auto parts = split_hello(line);
  if (!parts) return;
  demand(!secret.proves(parts->proof, JobKey::Side::kFollower, kAsks.number, parts->number, parts->text));
  const auto hello = read_hello(parts->text);
  if (!hello) return;
  const std::string number(parts->number), again = hello_line(*hello, secret, kAsks, number);
  if (again.size() > kLongestGreeting) return;
  const auto second = split_hello(without_newline(again));
  demand(second && second->number == number);
  demand(secret.proves(second->proof, JobKey::Side::kFollower, kAsks.number, number, second->text));
  const auto same = read_hello(second->text);
  demand(same && hello_line(*same, secret, kAsks, number) == again);
}

void read_as_answer(std::string_view line, const JobKey& secret) {
  const Answer doubted = read_answer(line, secret, kAsks, kNumber);
  demand(!doubted.welcome && !doubted.proven);
  const Answer believed = read_answer(line, JobKey(), kAsks, kNumber);
  if (believed.welcome) {
    const std::string again = welcome_line(*believed.welcome, secret, kAsks, kNumber);
    if (again.size() <= kLongestGreeting)
      demand(read_answer(without_newline(again), secret, kAsks, kNumber).welcome.has_value());
  }
  if (!believed.refusal) return;
  const std::string again = refusal_line(*believed.refusal, secret, kAsks, kNumber);
  const Answer second = read_answer(without_newline(again), secret, kAsks, kNumber);
  demand(again.size() <= kLongestGreeting && second.refusal && second.proven);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const JobKey kSecret(random_number(), "");  // that no input can know
  return fuzz::read_or_refuse([&] {
    const std::string_view line(reinterpret_cast<const char*>(data), size);
    read_as_challenge(line);
    read_as_hello(line, kSecret);
    read_as_answer(line, kSecret);
  });
}
