// What is dead where a checkpoint may be taken (docs/internals/live-sets.md): arrays, static ones and blocks
// of the heap, that are written without gaps before they are read, on every way from there.
//
// Places are `#pragma promp checkpoint`, and the heads of outermost serial loops around parallel regions.
// Looked at is memory that only this unit can reach (pointers.cc, unit.cc). From a place all ways are
// followed (ways.cc) to the nests of loops that write it (whole.cc). What these write is computed at the
// place (at_place.cc), and handed to the runtime, which finds out whether it has no gaps.
//
// P3's implicit definitions of data-sharing clauses stand in the code by now: shared variables are static or
// in a region's data, and private copies are variables of the functions that GCC has made of regions.

#include "checkpoints/dead.h"
#include "foresee/foresee.h"
#include "memory/memory.h"
#include "segments/tables.h"
#include "checkpoints/ways.h"
#include "ssa.h"
#include "cgraph.h"
#include "gimple-expr.h"
#include "gimplify.h"
#include "gimplify-me.h"
#include "tree-cfg.h"
#include "tree-into-ssa.h"
#include "tree-ssa-alias.h"
#include "diagnostic-core.h"

namespace promp {
namespace {

/// Smaller variables are not worth it.
const HOST_WIDE_INT LEAST = 8192;
/// So many things are looked at for a place.
const unsigned CANDIDATES = 200;

/// Later passes must not move what is done to memory from one side of the call to the other.
gcall *opaque (gcall *c)
{
  pt_solution_reset (gimple_call_use_set (c));
  pt_solution_reset (gimple_call_clobber_set (c));
  return c;
}

HOST_WIDE_INT size_of (tree v)
{
  return DECL_SIZE_UNIT (v) && tree_fits_shwi_p (DECL_SIZE_UNIT (v)) ? tree_to_shwi (DECL_SIZE_UNIT (v)) : 0;
}

class Search
{
public:
  explicit Search (Unit &u) : unit_ (u) {}

  /// At `bb`'s beginning, or at `call`.
  void place (Function &f, basic_block bb, gimple *call)
  {
    push_cfun (f.fn);
    AtPlace at (unit_, f, bb, call);
    std::string dead, live;
    std::vector<std::vector<Kill>> all;
    std::vector<std::string> names; // of what is dead
    bool perhaps = false; // what is live may be dead by what pointers are at the place
    auto say
        = [] (std::string &list, const std::string &what) { list += (list.empty () ? "" : ", ") + what; };
    for (auto &objects : candidates ())
      {
        const char *no = nullptr;
        for (unsigned o : objects)
          no = no ? no : unit_.why_not (o);
        Ways ways (unit_, at, objects);
        bool written = true;
        for (unsigned o : objects)
          written = written && unit_.is_written (o);
        std::string why = no ? no : written ? ways.follow (bb, call) : "";
        if (why.empty () && ways.kills.empty ())
          why = "nothing is known to write it as a whole";
        if (why.empty ())
          {
            say (dead, described (objects) + ")");
            names.push_back (described (objects) + ")");
            all.push_back (ways.kills);
          }
        else
          {
            say (live, described (objects) + ": " + why + ")");
            perhaps = perhaps || !no;
          }
      }
    // Before anything is inserted.
    Foresight ahead;
    if (!options.foresee || (!call && all.empty ()) || !perhaps || !foresee (unit_, f, bb, call, &ahead))
      ahead.words.clear ();
    location_t where = call ? gimple_location (call) : UNKNOWN_LOCATION;
    if (!call)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i) && LOCATION_LINE (where) <= 0;
           gsi_next (&i))
        where = gimple_location (gsi_stmt (i));
    if (options.report && (call || !all.empty ()))
      inform (where, "promp: place in %s: dead: %s; live: %s", IDENTIFIER_POINTER (DECL_NAME (f.fn->decl)),
              dead.empty () ? "nothing" : dead.c_str (), live.empty () ? "no other array" : live.c_str ());
    if (!all.empty () || !ahead.words.empty ())
      emit (f, bb, call, all, names, ahead, where);
    pop_cfun ();
  }

private:
  /// Variables that are large, blocks of the heap, and what else nests write.
  std::set<std::set<unsigned>> candidates ()
  {
    std::set<std::set<unsigned>> all;
    for (unsigned o = 1; o < unit_.pointers.count (); o++)
      {
        const Object &x = unit_.pointers.object (o);
        if (x.site
            || (VAR_P (x.decl) && TREE_STATIC (x.decl) && !TREE_READONLY (x.decl)
                && size_of (x.decl) >= LEAST))
          all.insert ({ o });
      }
    for (auto &f : unit_.functions)
      for (Nest &n : f.second.nests)
        {
          bool large = false;
          if (n.objects.count (UNKNOWN))
            continue;
          for (unsigned o : n.objects)
            large = large || !unit_.pointers.object (o).decl
                    || size_of (unit_.pointers.object (o).decl) >= LEAST;
          if (large && all.size () < CANDIDATES)
            all.insert (n.objects);
        }
    return all;
  }

  /// The name, and the size if it is known.
  std::string described (const std::set<unsigned> &objects)
  {
    std::string s;
    for (unsigned o : objects)
      {
        s += (s.empty () ? "" : " or ") + unit_.pointers.name (o);
        tree d = unit_.pointers.object (o).decl;
        if (objects.size () == 1 && d)
          s += " (" + std::to_string (size_of (d)) + " bytes";
        else if (objects.size () == 1)
          s += " (line " + std::to_string (LOCATION_LINE (gimple_location (unit_.pointers.object (o).site)));
      }
    return objects.size () == 1 ? s : s + " (one of them";
  }

  /// Says what is dead in front of the place: for each, nests that write it. The runtime takes what all of
  /// them write (crates/omp/src/team/loop_nests.rs): number of words, number of nests; for each, its first
  /// byte, bytes of an element, number of loops, and their strides and counts; then what it is and where that
  /// is, for who finds that it is not so. No nests: that of what comes of going ahead.
  void emit (Function &f, basic_block bb, gimple *call, const std::vector<std::vector<Kill>> &all,
             const std::vector<std::string> &names, const Foresight &ahead, location_t where)
  {
    gimple_stmt_iterator i = call ? gsi_for_stmt (call) : gsi_after_labels (bb);
    expanded_location x = expand_location (where);
    std::string place = IDENTIFIER_POINTER (DECL_NAME (f.fn->decl))
                        + (x.file ? " (" + std::string (x.file) + ":" + std::to_string (x.line) + ")" : "");
    auto named = [&] (const std::string &what) {
      std::string both = what + std::string (1, 0) + place;
      return fold_convert (sizetype, build_string_literal (both.size () + 1, both.c_str ()));
    };
    auto said = [&] (std::vector<tree> words) {
      words[0] = size_int (words.size ());
      gcall *c = gimple_build_call (written_function (), 1, list_of (&i, words));
      gimple_set_location (c, where);
      gsi_insert_before (&i, opaque (c), GSI_SAME_STMT);
    };
    for (size_t n = 0; n < all.size (); n++)
      {
        const std::vector<Kill> &kills = all[n];
        std::vector<tree> words = { NULL_TREE, size_int (kills.size ()) };
        for (const Kill &k : kills)
          {
            words.push_back (k.start);
            words.push_back (size_int (k.nest->bytes));
            words.push_back (size_int (k.levels.size ()));
            for (auto &l : k.levels)
              {
                words.push_back (l.first);
                words.push_back (l.second);
              }
          }
        words.push_back (named (names[n]));
        said (words);
      }
    if (!ahead.words.empty ())
      {
        said ({ NULL_TREE, size_zero_node, named ("") });
        std::vector<tree> slots;
        for (tree v : ahead.slots)
          slots.push_back (fold_convert (sizetype, TYPE_UNSIGNED (TREE_TYPE (v)) || POINTER_TYPE_P (TREE_TYPE (v))
                                                     ? v : fold_convert (ssizetype, v)));
        gcall *c = gimple_build_call (foreseen_function (), 2, constant (ahead.words), list_of (&i, slots));
        gimple_set_location (c, where);
        gsi_insert_before (&i, opaque (c), GSI_SAME_STMT);
      }
    if (call)
      opaque (as_a<gcall *> (call));
    else
      {
        gcall *c = gimple_build_call (runtime_function ("promp_potential_ckpt", false), 0);
        gimple_set_location (c, where);
        gsi_insert_before (&i, opaque (c), GSI_SAME_STMT);
      }
    mark_virtual_operands_for_renaming (f.fn);
    update_ssa (TODO_update_ssa_only_virtuals);
    cgraph_edge::rebuild_edges ();
  }

  /// The address of a variable that holds `words`.
  static tree list_of (gimple_stmt_iterator *i, const std::vector<tree> &words)
  {
    tree list = create_tmp_var (build_array_type_nelts (sizetype, MAX (words.size (), 1)), "promp_dead");
    TREE_ADDRESSABLE (list) = 1;
    for (unsigned k = 0; k < words.size (); k++)
      {
        tree v = force_gimple_operand_gsi (i, unshare_expr (words[k]), true, NULL_TREE, true, GSI_SAME_STMT);
        tree to = build4 (ARRAY_REF, sizetype, list, size_int (k), NULL_TREE, NULL_TREE);
        gsi_insert_before (i, gimple_build_assign (to, v), GSI_SAME_STMT);
      }
    return build_fold_addr_expr (list);
  }

  /// The address of a constant.
  static tree constant (const std::vector<uint64_t> &words)
  {
    tree type = build_array_type_nelts (long_unsigned_type_node, words.size ());
    tree var = build_decl (UNKNOWN_LOCATION, VAR_DECL, create_tmp_var_name ("promp_foreseen"), type);
    vec<constructor_elt, va_gc> *all = nullptr;
    for (size_t k = 0; k < words.size (); k++)
      CONSTRUCTOR_APPEND_ELT (all, size_int (k), build_int_cstu (long_unsigned_type_node, words[k]));
    DECL_INITIAL (var) = build_constructor (type, all);
    TREE_CONSTANT (DECL_INITIAL (var)) = TREE_STATIC (DECL_INITIAL (var)) = 1;
    TREE_STATIC (var) = TREE_READONLY (var) = TREE_ADDRESSABLE (var) = 1;
    DECL_ARTIFICIAL (var) = DECL_IGNORED_P (var) = 1;
    varpool_node::finalize_decl (var);
    return build_fold_addr_expr (var);
  }

  Unit &unit_;
};

const pass_data DATA = { SIMPLE_IPA_PASS, "promp_dead", OPTGROUP_OMP, TV_NONE, 0, 0, 0, 0, 0 };

struct Dead : simple_ipa_opt_pass
{
  Dead () : simple_ipa_opt_pass (DATA, g) {}
  bool gate (function *) final override { return flag_openmp && optimize && !in_lto_p && !flag_generate_lto; }
  unsigned execute (function *) final override
  {
    Unit unit;
    if (unit.survey ())
      for (auto &f : unit.functions)
        {
          for (gimple *call : f.second.places)
            Search (unit).place (f.second, gimple_bb (call), call);
          for (basic_block bb : f.second.heads)
            Search (unit).place (f.second, bb, nullptr);
        }
    return 0;
  }
};

} // namespace

opt_pass *make_dead_pass () { return new Dead; }

} // namespace promp
