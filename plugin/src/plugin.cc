// Entry of the GCC plugin: registers the passes (README.md).

#include "promp-plugin.h"
#include "memory/summary.h"
#include "memory/outside.h"
#include "checkpoints/dead.h"
#include "openmp/directives.h"
#include "checkpoints/taint.h"
#include "plugin-version.h"
#include "diagnostic-core.h"

__attribute__ ((visibility ("default"))) int plugin_is_GPL_compatible;

namespace promp {
Options options;

static void add (const char *plugin, opt_pass *pass, const char *reference, pass_positioning_ops where)
{
  register_pass_info info = { pass, reference, 1, where };
  register_callback (plugin, PLUGIN_PASS_MANAGER_SETUP, nullptr, &info);
}
} // namespace promp

__attribute__ ((visibility ("default"))) int plugin_init (plugin_name_args *args, plugin_gcc_version *version)
{
  using namespace promp;
  if (!plugin_default_version_check (version, &gcc_version))
    {
      error ("promp: this plugin was built for GCC %s, not for %s; build promp with this compiler", gcc_version.basever,
             version->basever);
      return 1;
    }
  for (int i = 0; i < args->argc; i++)
    if (!strcmp (args->argv[i].key, "report"))
      options.report = true;
    else if (!strcmp (args->argv[i].key, "elements"))
      options.elements = true;
    else if (!strcmp (args->argv[i].key, "budget") && args->argv[i].value)
      options.budget = strtoul (args->argv[i].value, nullptr, 10);
    else if (!strcmp (args->argv[i].key, "foresee"))
      options.foresee = true;
    else if (!strcmp (args->argv[i].key, "sdc"))
      options.sdc = true;
    else
      {
        error ("promp: unknown plugin option %qs (known: report, elements, budget, foresee, sdc)",
               args->argv[i].key);
        return 1;
      }
  add (args->base_name, make_visible_pass (), "omplower", PASS_POS_INSERT_BEFORE);
  add (args->base_name, make_shown_pass (), "build_ssa_passes", PASS_POS_INSERT_AFTER);
  add (args->base_name, make_shown_again_pass (), "optimized", PASS_POS_INSERT_BEFORE);
  add (args->base_name, make_rename_pass (), "ssa", PASS_POS_INSERT_AFTER);
  add (args->base_name, make_plain_pass (), "promp_rename", PASS_POS_INSERT_AFTER);
  add (args->base_name, make_summary_pass (), "simdclone", PASS_POS_INSERT_BEFORE);
  add (args->base_name, make_dead_pass (), "simdclone", PASS_POS_INSERT_BEFORE);
  add (args->base_name, make_sections_pass (), "pre", PASS_POS_INSERT_BEFORE);
  add (args->base_name, make_segments_pass (), "pre", PASS_POS_INSERT_BEFORE);
  register_callback (args->base_name, PLUGIN_PRAGMAS, [] (void *, void *) { register_directives (); }, nullptr);
  register_callback (args->base_name, PLUGIN_FINISH_UNIT, [] (void *, void *) { finish_unit (); }, nullptr);
  register_callback (args->base_name, PLUGIN_GGC_MARKING, [] (void *, void *) { keep_references (); }, nullptr);
  return 0;
}
