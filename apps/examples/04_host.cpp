// A MuJoCo program that uses Tendril only through its plugin library:
//     04_host build/release/lib/libtendril.so scenes/reach/reach.xml
#include <mujoco/mujoco.h>

#include <cstdio>
#include <memory>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: 04_host LIBTENDRIL.so SCENE.xml [MORE_PLUGINS.so...]\n");
    return 2;
  }
  mj_loadPluginLibrary(argv[1]);
  for (int i = 3; i < argc; ++i) mj_loadPluginLibrary(argv[i]);

  char error[1000] = "";
  const std::unique_ptr<mjModel, void (*)(mjModel*)> model(
      mj_loadXML(argv[2], nullptr, error, sizeof error), mj_deleteModel);
  if (!model) {
    std::fprintf(stderr, "%s\n", error);
    return 1;
  }
  const std::unique_ptr<mjData, void (*)(mjData*)> data(mj_makeData(model.get()), mj_deleteData);
  while (data->time < 2.0) mj_step(model.get(), data.get());

  const int sensor = mj_name2id(model.get(), mjOBJ_SENSOR, "arm_tip_error");
  if (sensor < 0) {
    std::fprintf(stderr, "%s: no sensor arm_tip_error\n", argv[2]);
    return 1;
  }
  const double tip_error = data->sensordata[model->sensor_adr[sensor]];
  std::printf("tip error after %.1f s: %.3f mm\n", data->time, 1e3 * tip_error);
  return tip_error < 0.01 ? 0 : 1;
}
