#include "launcher/control/job_key.h"

#include <sodium.h>
#include <sys/random.h>

#include "hftrain/base/error.h"

namespace hftrain::launcher {
namespace {

using Digest = std::array<unsigned char, crypto_auth_hmacsha256_BYTES>;
constexpr size_t kRandomBytes = 16;

Digest keyed_hash(std::string_view key, std::string_view text) {
  Digest digest;
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, reinterpret_cast<const unsigned char*>(key.data()), key.size());
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  crypto_auth_hmacsha256_final(&state, digest.data());
  return digest;
}

template <size_t kBytes>
std::string hexadecimal(const std::array<unsigned char, kBytes>& bytes) {
  std::string text(2 * kBytes + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

}  // namespace

JobKey::JobKey(std::string_view secret, std::string_view token) : empty_(secret.empty() && token.empty()) {
  if (!empty_) key_ = keyed_hash(secret, "hftrain job\n" + std::string(token));
}

std::string JobKey::proof(Side side, std::string_view leaders_number, std::string_view followers_number,
                          std::string_view text) const {
  if (empty_) return "-";
  std::string message = side == Side::kFollower ? "follower\n" : "leader\n";
  message.append(leaders_number).append("\n").append(followers_number).append("\n").append(text);
  return hexadecimal(keyed_hash({reinterpret_cast<const char*>(key_.data()), key_.size()}, message));
}

bool JobKey::proves(std::string_view proof, Side side, std::string_view leaders_number,
                    std::string_view followers_number, std::string_view text) const {
  const std::string expected = this->proof(side, leaders_number, followers_number, text);
  return proof.size() == expected.size() &&
         sodium_memcmp(proof.data(), expected.data(), expected.size()) == 0;
}

std::string random_number() {
  std::array<unsigned char, kRandomBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(ExitCode::kEnvironment, "cannot draw a number for the job")
        .where("getrandom")
        .why("the kernel gives no random bytes")
        .hint("look at the kernel's messages");
  }
  return hexadecimal(bytes);
}

bool is_random_number(std::string_view text) {
  return text.size() == 2 * kRandomBytes &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace hftrain::launcher
