#include "hftrain/base/elf_section.h"

#include <dlfcn.h>
#include <elf.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "hftrain/base/file.h"
#include "support/catch.h"

namespace hftrain {
namespace {

// The C library of this very program.
std::string library_here() {
  Dl_info info;
  REQUIRE(::dladdr(reinterpret_cast<void*>(&::dlclose), &info) != 0);
  return read_file(info.dli_fname);
}

TEST_CASE("a section of a library is found by its name") {
  const std::string file = library_here();
  CHECK(is_shared_library(file));
  CHECK(elf_section(file, ".dynstr").value().find("dlclose") != std::string_view::npos);
  CHECK_FALSE(elf_section(file, ".hftrain_plugin"));
}

TEST_CASE("a library for another kind of machine is none here") {
  std::string file = library_here();
  const Elf64_Half other = EM_S390;
  std::memcpy(file.data() + offsetof(Elf64_Ehdr, e_machine), &other, sizeof other);
  CHECK_FALSE(is_shared_library(file));
  CHECK_FALSE(elf_section(file, ".dynstr"));
}

TEST_CASE("what is no library has no sections") {
  CHECK_FALSE(is_shared_library("PK\x03\x04"));
  CHECK_FALSE(elf_section("", ".text"));
  CHECK_FALSE(elf_section(std::string(64, '\0'), ".text"));
}

TEST_CASE("a library that was cut off gives sections that are whole, or none") {
  const std::string file = library_here();
  const std::string_view whole = elf_section(file, ".dynstr").value();
  for (size_t size = 0; size < file.size(); size += file.size() / 97 + 1) {
    const std::string_view part = std::string_view(file).substr(0, size);
    const std::optional<std::string_view> found = elf_section(part, ".dynstr");
    if (found && !found->empty()) CHECK(*found == whole);
    CHECK(is_shared_library(part) == (size >= 64));
  }
}

}  // namespace
}  // namespace hftrain
