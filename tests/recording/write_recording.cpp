// Writes a recording of invented rows, for the test that reads it with h5py.
// Usage: write_recording FILE ROWS close|wait     `wait`: print "ready", then wait for the end of
// stdin.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/recording/recording.hpp"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const long rows = std::atol(argv[2]);
  const tendril::RolloutLayout layout = tendril::test::arm_layout();
  const std::byte model[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  tendril::RolloutWriter writer(
      argv[1], layout,
      {{"seed", std::int64_t{7}},
       {"timestep", 0.002},
       {"sensors",
        R"([{"name":"A_tip_error","address":5,"dimension":1,"quantity":"tip_error","unit":"m"}])"},
       {"model_xml", std::string(100'000, 'x') + "é"}},
      model);
  tendril::test::InventedRow row(layout);
  for (long i = 0; i < rows; ++i) writer.append(row.make(i));
  if (std::string(argv[3]) == "close") {
    writer.close("done");
    return 0;
  }
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}
