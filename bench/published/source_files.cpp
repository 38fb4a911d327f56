#include "bench/published/source_files.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "tendril/model/robot_description.hpp"

namespace tendril::tables {
namespace {

struct SourceFile {
  std::string_view name, text;
};
constexpr SourceFile kSourceFiles[] = {
#include "source_files.inc"
};

}  // namespace

std::string_view source_text(const std::string& file) {
  const auto* const found = std::ranges::find(kSourceFiles, file, &SourceFile::name);
  assert(found != std::end(kSourceFiles));
  return found->text;
}

std::vector<SectionParameters> source_sections(const std::string& file) {
  return parse_as<ContinuumDescription>(source_text(file), file).sections;
}

}  // namespace tendril::tables
