#include "variables.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

namespace hftrain::grid {
namespace {

// How far from the addresses in its file the program lies.
uintptr_t offset_of_program() {
  uintptr_t offset = 0;
  const auto first = [](dl_phdr_info* info, size_t /*bytes*/, void* found) {
    *static_cast<uintptr_t*>(found) = info->dlpi_addr;
    return 1;
  };
  dl_iterate_phdr(first, &offset);
  return offset;
}

std::string bytes_of_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// By their beginnings.
std::map<uintptr_t, Extent> read_variables() {
  const std::string bytes = bytes_of_program();
  const uintptr_t offset = offset_of_program();
  std::map<uintptr_t, Extent> found;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(bytes.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(bytes.data() + header->e_shoff);
  const auto* table = std::find_if(sections, sections + header->e_shnum,
                                   [](const Elf64_Shdr& section) { return section.sh_type == SHT_SYMTAB; });
  if (table == sections + header->e_shnum)
    throw std::runtime_error("this program was stripped of its symbols");
  const auto* symbols = reinterpret_cast<const Elf64_Sym*>(bytes.data() + table->sh_offset);
  for (const auto* symbol = symbols; symbol != symbols + table->sh_size / sizeof *symbols; ++symbol) {
    if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_size == 0) continue;
    const uintptr_t begin = offset + symbol->st_value;
    found[begin] = {begin, begin + symbol->st_size};
  }
  return found;
}

}  // namespace

std::optional<Extent> variable_at(uintptr_t address) {
  static const std::map<uintptr_t, Extent> variables = read_variables();
  auto after = variables.upper_bound(address);
  if (after == variables.begin()) return std::nullopt;
  const Extent found = std::prev(after)->second;
  return address < found.end ? std::optional(found) : std::nullopt;
}

}  // namespace hftrain::grid
