/* Loads the plugin library along with another version of MuJoCo, or twice, and says whether what
   must hold holds: loading_test engine OTHER_LIBMUJOCO LIBTENDRIL.so    nothing is registered
     loading_test copy LIBTENDRIL.so COPY.so SCENE.xml    the first one works on */
#include <dlfcn.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

static int holds(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "engine") == 0) {
    if (!dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)) return 0;
    mj_loadPluginLibrary(argv[3]);
    return mjp_pluginCount() == 0;
  }
  if (argc != 5) return 0;
  char error[1000] = "";
  mj_loadPluginLibrary(argv[2]);
  const int count = mjp_pluginCount();
  mj_loadPluginLibrary(argv[3]);
  mjModel* model = mj_loadXML(argv[4], NULL, error, sizeof error);
  if (!model) fprintf(stderr, "%s\n", error);
  const int works = model && model->nplugin == 1 && count > 0 && mjp_pluginCount() == count;
  mj_deleteModel(model);
  return works;
}

int main(int argc, char** argv) {
  const int good = holds(argc, argv);
  fprintf(stderr, good ? "holds\n" : "does not hold\n");
  return good ? 0 : 1;
}
