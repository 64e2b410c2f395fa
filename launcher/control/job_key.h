// What proves to one another that agents belong to one job: a keyed hash (HMAC-SHA-256, RFC 2104) over
// numbers that both sides have just drawn. The secret itself never travels.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace hftrain::launcher {

class JobKey {
 public:
  // Who proves something: what one side has said is no proof of the other.
  enum class Side { kFollower, kLeader };

  // No secret: everybody is believed.
  JobKey() = default;
  // `secret` was given by the user, `token` drawn by agent 0 and handed out by what started the job. Either
  // may be empty; both empty is no secret.
  JobKey(std::string_view secret, std::string_view token);

  bool empty() const noexcept { return empty_; }
  // That this side knows the secret and says `text` in answer to both numbers. Lower-case hexadecimal; "-"
  // without a secret.
  std::string proof(Side side, std::string_view leaders_number, std::string_view followers_number,
                    std::string_view text) const;
  // Takes as long for a wrong proof as for a right one.
  bool proves(std::string_view proof, Side side, std::string_view leaders_number,
              std::string_view followers_number, std::string_view text) const;

 private:
  std::array<unsigned char, 32> key_{};
  bool empty_ = true;
};

// 128 random bits of the kernel as 32 hexadecimal digits. Error (kEnvironment) when it gives none.
std::string random_number();
// Whether a text could be one.
bool is_random_number(std::string_view text);

}  // namespace hftrain::launcher
