/* Replaces the library of another version of MuJoCo. */
int mj_version(void) { return 4000000; }
