// Steps a scene and prints the bits of qpos: plugin_from_python_test.py compares them with its own.
//     print_qpos LIBTENDRIL.so SCENE.xml STEPS
#include <mujoco/mujoco.h>

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  mj_loadPluginLibrary(argv[1]);
  char error[1000] = "";
  mjModel* model = mj_loadXML(argv[2], nullptr, error, sizeof error);
  if (!model) {
    std::fprintf(stderr, "%s\n", error);
    return 1;
  }
  mjData* data = mj_makeData(model);
  for (int i = 0; i < std::atoi(argv[3]); ++i) mj_step(model, data);
  for (int i = 0; i < model->nq; ++i)
    std::printf("%016" PRIx64 "\n", std::bit_cast<std::uint64_t>(data->qpos[i]));
  mj_deleteData(data);
  mj_deleteModel(model);
}
