/* A C program that links MuJoCo alone: plain_host_test LIBTENDRIL.so SCENE.xml */
#include <mujoco/mujoco.h>
#include <stdio.h>

int main(int argc, char** argv) {
  char error[1000] = "";
  if (argc != 3) return 2;
  mj_loadPluginLibrary(argv[1]);
  mjModel* model = mj_loadXML(argv[2], NULL, error, sizeof error);
  if (!model) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  mjData* data = mj_makeData(model);
  for (int i = 0; i < 100; ++i) mj_step(model, data);
  int written = 0;
  for (int i = 0; i < model->nu; ++i) written += data->ctrl[i] != 0.0;
  const int has_plugin = model->nplugin == 1;
  printf("%d setpoints written\n", written);
  mj_deleteData(data);
  mj_deleteModel(model);
  return has_plugin && written > 0 ? 0 : 1;
}
