#include "hftrain/base/elf_section.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace hftrain {
namespace {

// That this program was built for; EM_NONE: one without a row here, for which a library of any is taken.
#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
constexpr Elf64_Half kMachine = EM_NONE;
#endif

// The structure at an offset, if all of it is in the file.
template <typename Structure>
std::optional<Structure> at_offset(std::string_view file, uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(Structure)) return std::nullopt;
  Structure structure;
  std::memcpy(&structure, file.data() + offset, sizeof(Structure));
  return structure;
}

std::string_view contents(std::string_view file, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS || section.sh_offset > file.size()) return {};
  if (section.sh_size > file.size() - section.sh_offset) return {};
  return file.substr(section.sh_offset, section.sh_size);
}

std::string_view text_at(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

std::optional<Elf64_Shdr> section_header(std::string_view file, const Elf64_Ehdr& header, uint64_t index) {
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > file.size()) return std::nullopt;
  return at_offset<Elf64_Shdr>(file, header.e_shoff + index * sizeof(Elf64_Shdr));
}

}  // namespace

bool is_shared_library(std::string_view file) {
  const std::optional<Elf64_Ehdr> header = at_offset<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
  const bool of_machine = kMachine == EM_NONE || header->e_machine == kMachine;
  return header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
         header->e_type == ET_DYN && of_machine;
}

std::optional<std::string_view> elf_section(std::string_view file, std::string_view name) {
  if (!is_shared_library(file)) return std::nullopt;
  const Elf64_Ehdr header = *at_offset<Elf64_Ehdr>(file, 0);
  const std::optional<Elf64_Shdr> name_section = section_header(file, header, header.e_shstrndx);
  if (!name_section) return std::nullopt;
  const std::string_view names = contents(file, *name_section);
  for (uint64_t index = 0; index < header.e_shnum; ++index) {
    const std::optional<Elf64_Shdr> section = section_header(file, header, index);
    if (!section) return std::nullopt;
    if (text_at(names, section->sh_name) == name) return contents(file, *section);
  }
  return std::nullopt;
}

}  // namespace hftrain
