#include "simulation/files/csv_table.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

#include "simulation/rollout/run.hpp"
#include "tendril/kinematics/random_states.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;
using test::TemporaryFolder;

namespace {

using Rows = std::vector<std::vector<double>>;

CsvLayout xyz_layout() {
  return {.columns = {{"x"}, {"y"}, {"z", false}}, .ignored = {"note"}, .allowed = "x,y[,z]"};
}

Rows read_all(const std::string& file, const CsvLayout& layout) {
  CsvReader reader(file, layout);
  Rows rows;
  std::vector<double> row(layout.columns.size());
  while (reader.read(row)) rows.push_back(row);
  return rows;
}

Rows rows_of(const std::string& text) {
  const TemporaryFolder folder;
  return read_all(folder.write("t.csv", text), xyz_layout());
}

/// Message of the refusal without the folder's name; empty when the text is accepted.
std::string refusal_of(const std::string& text) {
  const TemporaryFolder folder;
  const std::string file = folder.write("t.csv", text);
  try {
    (void)read_all(file, xyz_layout());
  } catch (const ModelError& error) {
    const std::string message = error.what();
    REQUIRE(message.starts_with(file));
    return message.substr(file.size() - 5);
  }
  return "";
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("csv: columns are found by name, in any order", "[csv]") {
  CHECK(rows_of("x,y,z\n1,2,3\n") == Rows{{1, 2, 3}});
  CHECK(rows_of("z,note,x,y\n3,any text,1,2\n") == Rows{{1, 2, 3}});
  CHECK(rows_of("y,x\n2,1\n") == Rows{{1, 2, 0}});  // absent: 0
}

TEST_CASE("csv: one table has many spellings", "[csv]") {
  const auto text = GENERATE(as<std::string>{},                         //
                             "x,y\n1,2\n-3,0.5\n",                      // as we write it
                             "x,y\r\n1,2\r\n-3,0.5\r\n",                // CRLF
                             "\xEF\xBB\xBFx,y\n1,2\n-3,0.5\n",          // byte order mark
                             "x,y\n1,2\n-3,0.5",                        // no last line end
                             "x,y\n1,2\n-3,0.5\n\n \r\n\n",             // blank lines at the end
                             " x ,\ty\n 1 , 2\n-3,0.5 \n",              // spaces
                             "\"x\",\"y\"\n\"1\",\"2\"\n-3,\"0.5\"\n",  // quotes
                             "\"x\" , \" y\"\n \" 1 \" ,2\n-3,0.5\n",   // quotes and spaces
                             "x,y\n+1,2.0\n-3.0e0,5E-1\n");             // other digits
  CAPTURE(text);
  CHECK(rows_of(text) == Rows{{1, 2, 0}, {-3, 0.5, 0}});
}

TEST_CASE("csv: a header alone is a table without rows", "[csv]") {
  CHECK(rows_of("x,y\n").empty());
  CHECK(rows_of("x,y").empty());
}

TEST_CASE("csv: a refusal names line, column and text", "[csv]") {
  struct Case {
    const char* name;
    std::string text;
    std::string message;
  };
  const auto c = GENERATE(values<Case>({
      {"empty", "", "t.csv: is empty: must begin with a line of column names: x,y[,z]"},
      {"blank", "\n \n", "t.csv: is empty: must begin with a line of column names: x,y[,z]"},
      {"no header", "1,2\n",
       "t.csv: row 1, column 1: \"1\": is not known: the first line must name the columns x,y[,z]"},
      {"unknown column", "x,y,w\n",
       "t.csv: row 1, column 3: \"w\": is not known: the first line must name the columns x,y[,z]"},
      {"case matters", "X,y\n",
       "t.csv: row 1, column 1: \"X\": is not known: the first line must name the columns x,y[,z]"},
      {"comma at the end", "x,y,\n",
       "t.csv: row 1, column 3: \"\": is not known: the first line must name the columns x,y[,z]"},
      {"other delimiter", "x;y\n",
       "t.csv: row 1, column 1: \"x;y\": is not known: the first line must name the columns "
       "x,y[,z]"},
      {"missing column", "x,z\n",
       "t.csv: row 1, column y: is missing: the columns must be x,y[,z]"},
      {"column twice", "x,y,x\n", "t.csv: row 1, column x: is repeated"},
      {"ignored column twice", "x,y,note,note\n", "t.csv: row 1, column note: is repeated"},
      {"word", "x,y\n1,2\n1,two\n", "t.csv: row 3, column y: \"two\": must be a finite number"},
      {"letter O", "x,y\n0.1O,2\n", "t.csv: row 2, column x: \"0.1O\": must be a finite number"},
      {"two numbers", "x,y\n1 2,3\n", "t.csv: row 2, column x: \"1 2\": must be a finite number"},
      {"empty field", "x,y\n1,\n", "t.csv: row 2, column y: \"\": must be a finite number"},
      {"NaN", "x,y\nnan,1\n", "t.csv: row 2, column x: \"nan\": must be a finite number"},
      {"infinity", "x,y\n1,-inf\n", "t.csv: row 2, column y: \"-inf\": must be a finite number"},
      {"too large", "x,y\n1,1e999\n", "t.csv: row 2, column y: \"1e999\": must be a finite number"},
      {"hexadecimal", "x,y\n0x1,1\n", "t.csv: row 2, column x: \"0x1\": must be a finite number"},
      {"two signs", "x,y\n+-1,1\n", "t.csv: row 2, column x: \"+-1\": must be a finite number"},
      {"sign alone", "x,y\n+,1\n", "t.csv: row 2, column x: \"+\": must be a finite number"},
      {"control characters", std::string("x,y\n1\0\x1b[2J,1\n", 13),
       "t.csv: row 2, column x: \"1??[2J\": must be a finite number"},
      {"long text", "x,y\n" + std::string(50, '7') + "u,1\n",
       "t.csv: row 2, column x: \"" + std::string(40, '7') + "...\": must be a finite number"},
      {"too few", "x,y\n1,2\n1\n", "t.csv: row 3: has 1 column: must have 2, as the header"},
      {"too many", "x,y\n1,2,3\n", "t.csv: row 2: has 3 columns: must have 2, as the header"},
      {"blank line inside", "x,y\n1,2\n\n1,2\n",
       "t.csv: row 3: is blank: only lines at the end may be blank"},
      {"open quote", "x,y\n\"1,2\n", "t.csv: row 2, column 1: \"1,2\": must end with a quote"},
      {"text after a quote", "x,y\n\"1\"2,2\n",
       "t.csv: row 2, column 1: \"2,2\": must not follow a closing quote"},
      {"quotes inside", "x,y\n\"1\"\"2\",2\n",
       "t.csv: row 2, column x: \"1\"\"2\": must be a finite number"},
      {"CRLF counts once", "x,y\r\n1,2\r\n1,q\r\n",
       "t.csv: row 3, column y: \"q\": must be a finite number"},
  }));
  DYNAMIC_SECTION(c.name) { CHECK(refusal_of(c.text) == c.message); }
}

TEST_CASE("csv: a line that is no line of a table does not fill the memory", "[csv]") {
  CHECK(refusal_of("x,y\n" + std::string(3u << 20, '1')) ==
        "t.csv: row 2: is longer than 1048576 bytes: must be a line of numbers");
}

TEST_CASE("csv: what cannot be opened is refused", "[csv]") {
  const TemporaryFolder folder;
  const std::string missing = folder.path() / "none.csv";
  CHECK_THROWS_WITH(CsvReader(missing, xyz_layout()),
                    missing + ": No such file or directory: must be a readable file");
  CHECK_THROWS_WITH(CsvReader(folder.path(), xyz_layout()),
                    folder.path().string() + ": is a folder: must be a readable file");
}

TEST_CASE("csv: rows that straddle the reader's buffer come out whole", "[csv]") {
  std::ostringstream text;
  text << "x,y\n";
  constexpr int kRows = 200000;  // 2.6 MB: the buffer is refilled twice
  for (int i = 0; i < kRows; ++i) text << i << ',' << -i << '\n';
  const TemporaryFolder folder;
  CsvReader reader(folder.write("t.csv", text.str()), xyz_layout());
  std::vector<double> row(3);
  int wrong = 0, count = 0;
  double part = *reader.part();
  bool grows = true;
  for (; reader.read(row); ++count) {
    if (row[0] != count || row[1] != -count) ++wrong;
    grows = grows && *reader.part() > part;
    part = *reader.part();
  }
  CHECK(count == kRows);
  CHECK(wrong == 0);
  CHECK(grows);
  CHECK(part == 1.0);
}

TEST_CASE("csv: what is written is read back bit for bit", "[csv]") {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "t.csv";
  Rows rows = {
      {0.0, -0.0, 0.1},
      {std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest(), 1e22},
      {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(), 1.0}};
  SplitMix64 random(1);
  for (int i = 0; i < 1000; ++i)
    rows.push_back({random.uniform(-1, 1), std::ldexp(random.uniform(), 300),
                    std::ldexp(random.uniform(), -300)});
  CsvWriter writer(file);
  for (const char* const name : {"x", "y", "z"}) writer.field(std::string_view(name));
  writer.end_row();
  for (const auto& row : rows) {
    for (const double value : row) writer.field(value);
    writer.end_row();
  }
  writer.finish();
  const Rows back = read_all(file, xyz_layout());
  REQUIRE(back.size() == rows.size());
  int wrong = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      if (back[i][k] != rows[i][k] || std::signbit(back[i][k]) != std::signbit(rows[i][k])) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("csv: a file has its name only when it is complete", "[csv]") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.write("t.csv", "old");
  const std::filesystem::path part = folder.path() / "t.csv.part";
  {
    CsvWriter writer(file);
    writer.field(std::string_view("new"));
    writer.field(7L);
    writer.field(0.25, 3);
    writer.end_row();
    SECTION("finished: the new content") {
      writer.finish();
      CHECK(text_of(file) == "new,7,0.250\n");
    }
    SECTION("given up: the old content") {
      writer.flush();
      CHECK(text_of(part) == "new,7,0.250\n");
      CHECK(text_of(file) == "old");
    }
  }
  CHECK_FALSE(std::filesystem::exists(part));
}

TEST_CASE("csv: a link to a file remains a link", "[csv]") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.write("t.csv", "old");
  const std::filesystem::path link = folder.path() / "link.csv";
  std::filesystem::create_symlink(file, link);
  CsvWriter writer(link);
  writer.field(std::string_view("new"));
  writer.end_row();
  writer.finish();
  CHECK(std::filesystem::is_symlink(link));
  CHECK(text_of(file) == "new\n");
}

TEST_CASE("csv: what cannot be written is an OutputError that names the file", "[csv]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(CsvWriter(folder.path()),
                    folder.path().string() + ": Is a directory: could not be written");
  const std::string inside = folder.path() / "none" / "t.csv";
  CHECK_THROWS_WITH(CsvWriter(inside),
                    inside + ": No such file or directory: could not be written");
  CsvWriter full("/dev/full");
  full.field(1.0);
  full.end_row();
  CHECK_THROWS_AS(full.finish(), OutputError);
}
