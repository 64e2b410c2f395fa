// How two agents come to trust each other: the first lines of every connection, before anything is taken for
// a message. Each is a few words and, at its end, one message as JSON, and at most kLongestGreeting bytes
// long; what stands in the JSON is looked at only after the proof before it held, but for a refusal, which is shown as
// the word of a stranger. Pure.
//
//   agent 0                                             follower
//   hftrain 1 NUMBER secret | open                 ->
//                                                  <-   hftrain 1 NUMBER PROOF {Hello}
//   hftrain 1 PROOF {Welcome}                      ->        PROOF: "-" in a job without a secret
//   or hftrain 1 refused PROOF {Refusal}, and the end
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/control/job_key.h"
#include "launcher/control/message.h"

namespace hftrain::launcher {

constexpr size_t kLongestGreeting = 4096;  // bytes, without the newline

// What agent 0 says to whoever comes.
struct Challenge {
  std::string number;   // random_number()
  bool secret = false;  // a proof is asked for
};
std::string challenge_line(const Challenge& challenge);
std::optional<Challenge> read_challenge(std::string_view line);

// What a follower answers; `number` is its own.
std::string hello_line(const Hello& hello, const JobKey& key, const Challenge& challenge,
                       const std::string& number);
// Its parts; whether they are true is not known yet.
struct HelloLine {
  std::string_view number, proof, text;  // parts of the line
};
std::optional<HelloLine> split_hello(std::string_view line);
// Nothing for a text that is no Hello.
std::optional<Hello> read_hello(std::string_view text);

// Agent 0's answer to `number`.
std::string welcome_line(const Welcome& welcome, const JobKey& key, const Challenge& challenge,
                         std::string_view number);
// The same to one that is not taken; longer texts are cut. `number`: empty where it has not said one that
// could be answered, so that nothing is proven.
std::string refusal_line(Refusal refusal, const JobKey& key, const Challenge& challenge,
                         std::string_view number);

// What a follower makes of the answer.
struct Answer {
  std::optional<Welcome> welcome;  // of one that has proven that it knows the secret
  std::optional<Refusal> refusal;
  bool proven = false;  // the refusal is of one that knows the secret, if there is one
};
// Neither for a line that is no answer, or a welcome whose proof does not hold.
Answer read_answer(std::string_view line, const JobKey& key, const Challenge& challenge,
                   const std::string& number);

}  // namespace hftrain::launcher
