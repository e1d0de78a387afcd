// Sections of device kernels, whose results are verified together (docs/internals/silent-errors.md): where
// they begin and end (plugin/analysis/src/kernel_sections.rs decides), the calls that say so (-fpromp-sdc),
// and what is wrong with those that the program has marked by hand.
//
// A kernel that brings its data back itself, because nobody has mapped them around it, is a section of its
// own: the runtime ends it. So it does wherever data come from a device: a section that is wrong costs
// time, never safety.

#include "layouts.h"
#include "memory/memory.h"
#include "segments/tables.h"
#include "ssa.h"
#include "cgraph.h"
#include "tree-cfg.h"
#include "diagnostic-core.h"
#include "tree-into-ssa.h"
#include "stringpool.h"
#include "attribs.h"
#include <array>
#include <map>
#include <set>
#include <string>

namespace promp {
namespace {

/// What functions of this unit are to their callers.
std::map<tree, uint8_t> whole_functions;

/// Are all of its calls known, and direct?
bool is_local (tree decl)
{
  cgraph_node *n = cgraph_node::get (decl);
  return n && !n->externally_visible && !n->address_taken && !n->alias && n->callers && !n->indirect_calls;
}

/// May data come back? The low bytes of the kinds are GCC's: 2 from, 3 tofrom, with modifiers.
bool brings_back (tree kinds, bool always_only)
{
  if (TREE_CODE (kinds) == ADDR_EXPR)
    kinds = TREE_OPERAND (kinds, 0);
  tree list = VAR_P (kinds) ? DECL_INITIAL (kinds) : NULL_TREE;
  if (!list || TREE_CODE (list) != CONSTRUCTOR)
    return !integer_zerop (kinds);
  unsigned i;
  tree value;
  FOR_EACH_CONSTRUCTOR_VALUE (CONSTRUCTOR_ELTS (list), i, value)
    {
      unsigned k = TREE_CODE (value) == INTEGER_CST ? TREE_INT_CST_LOW (value) & 0xff : 2;
      bool always = k == 0x12 || k == 0x13;
      bool from = always || k == 2 || k == 3 || k == 0x82 || k == 0x83 || k == 0x62 || k == 0x63;
      if (always_only ? always : from)
        return true;
    }
  return false;
}

class Function
{
public:
  explicit Function (function *fn) : fn_ (fn) {}

  void run ()
  {
    find_data_regions ();
    bool any = false;
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn_)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        any |= kind (gsi_stmt (i)) != KIND_NEITHER;
    if (!any)
      return;
    split ();
    describe ();
    promp_control c = { blocks_.size (), (const uint32_t (*)[2]) edges_.data (), edges_.size (),
                        kinds_.data (), exit (),
                        !is_local (fn_->decl), mark, wrong, this };
    uint8_t whole = promp_analysis_sections (&c);
    bool marked = !is_local (fn_->decl) && whole != KIND_NEITHER;
    whole_functions[fn_->decl] = marked ? (uint8_t) KIND_MIXED : whole;
    gsi_commit_edge_inserts ();
  }

private:
  /// How many data regions are around a block's start, at least.
  void find_data_regions ()
  {
    std::vector<basic_block> todo = { single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn_)) };
    inside_[todo[0]] = 0;
    while (!todo.empty ())
      {
        basic_block bb = todo.back ();
        todo.pop_back ();
        int depth = inside_[bb];
        for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
          depth = behind (gsi_stmt (i), depth);
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE (e, ei, bb->succs)
          if (e->dest != EXIT_BLOCK_PTR_FOR_FN (fn_)
              && (!inside_.count (e->dest) || inside_[e->dest] > depth))
            {
              inside_[e->dest] = depth;
              todo.push_back (e->dest);
            }
      }
  }

  int behind (gimple *stmt, int depth)
  {
    const char *n = callee_name (stmt);
    depth_[stmt] = depth;
    if (!strcmp (n, "GOMP_target_data_ext") || !strcmp (n, "GOACC_data_start"))
      return depth + 1;
    if (!strcmp (n, "GOMP_target_end_data") || !strcmp (n, "GOACC_data_end"))
      return depth > 0 ? depth - 1 : 0;
    return depth;
  }

  uint8_t kind (gimple *stmt)
  {
    gcall *c = dyn_cast<gcall *> (stmt);
    if (!c)
      return KIND_NEITHER;
    std::string n = callee_name (stmt);
    auto is = [&] (const char *name) { return n == name; };
    auto starts = [&] (const char *name) { return n.rfind (name, 0) == 0; };
    auto arg = [&] (unsigned i) { return gimple_call_arg (c, i); };
    unsigned count = gimple_call_num_args (c);
    if ((is ("GOMP_target_ext") || is ("GOACC_parallel_keyed")) && count > 5)
      return brings_back (arg (5), depth_[stmt] > 0) ? KIND_MIXED : KIND_KERNEL;
    if (((is ("GOMP_target_update_ext") || is ("GOMP_target_enter_exit_data")) && count > 4)
        || ((starts ("GOACC_update") || starts ("GOACC_enter_exit_data") || starts ("GOACC_exit_data"))
            && count > 4))
      return brings_back (arg (4), false) ? KIND_BACK : KIND_NEITHER;
    if (is ("GOMP_target_end_data") || is ("GOACC_data_end") || starts ("omp_target_memcpy")
        || starts ("acc_copyout") || starts ("acc_update_self") || starts ("acc_update_host")
        || starts ("acc_memcpy_from_device"))
      return KIND_BACK;
    if (n.find ("promp_sdc_checkpoint") != std::string::npos)
      return KIND_BEGIN;
    if (n.find ("promp_sdc_detect") != std::string::npos)
      return KIND_END;
    tree decl = gimple_call_fndecl (c);
    auto known = decl ? whole_functions.find (decl) : whole_functions.end ();
    return known == whole_functions.end () ? (uint8_t) KIND_NEITHER : known->second;
  }

  /// Makes a block of its own of each kernel and write-back.
  void split ()
  {
    std::vector<gimple *> found;
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn_)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        if (kind (gsi_stmt (i)) != KIND_NEITHER)
          found.push_back (gsi_stmt (i));
    for (gimple *s : found)
      {
        gimple_stmt_iterator i = gsi_for_stmt (s);
        gsi_prev_nondebug (&i);
        if (!gsi_end_p (i))
          split_block (gimple_bb (s), gsi_stmt (i));
        else if (gimple_bb (s) == single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn_)))
          split_block_after_labels (gimple_bb (s));
        if (!stmt_ends_bb_p (s) && gsi_stmt (gsi_last_bb (gimple_bb (s))) != s)
          split_block (gimple_bb (s), s);
        leaf_[gimple_bb (s)] = s;
      }
  }

  void describe ()
  {
    auto node = [&] (basic_block bb) {
      auto k = number_.insert ({ bb, blocks_.size () });
      if (k.second)
        {
          blocks_.push_back (bb);
          auto l = leaf_.find (bb);
          kinds_.push_back (l == leaf_.end () ? (uint8_t) KIND_NEITHER : kind (l->second));
        }
      return (uint32_t) k.first->second;
    };
    node (ENTRY_BLOCK_PTR_FOR_FN (fn_));
    for (size_t i = 0; i < blocks_.size (); i++)
      {
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE (e, ei, blocks_[i]->succs)
          if (!(e->flags & (EDGE_ABNORMAL | EDGE_EH)))
            edges_.push_back ({ (uint32_t) i, node (e->dest) });
      }
  }

  /// Where the function returns; nowhere: any number that is none.
  size_t exit () const
  {
    auto n = number_.find (EXIT_BLOCK_PTR_FOR_FN (fn_));
    return n == number_.end () ? blocks_.size () : n->second;
  }

  location_t place (const uint32_t *nodes, size_t n, bool last)
  {
    location_t best = UNKNOWN_LOCATION;
    for (size_t i = 0; i < n; i++)
      for (gimple_stmt_iterator g = gsi_start_bb (blocks_[nodes[i]]); !gsi_end_p (g); gsi_next (&g))
        if (location_t l = gimple_location (gsi_stmt (g));
            !is_gimple_debug (gsi_stmt (g)) && LOCATION_LINE (l) > 0)
          if (best == UNKNOWN_LOCATION || (LOCATION_LINE (l) > LOCATION_LINE (best)) == last)
            best = l;
    return best == UNKNOWN_LOCATION ? DECL_SOURCE_LOCATION (fn_->decl) : best;
  }

  static void mark (void *context, bool begins, bool inside, const uint32_t *nodes, size_t n)
  {
    Function &f = *(Function *) context;
    location_t where = f.place (nodes, n, !begins);
    if (options.report)
      inform (where, begins ? "promp: a section of kernels begins" : "promp: a section of kernels ends");
    if (!options.sdc)
      return;
    auto call = [&] {
      const char *name = begins ? "promp_sdc_checkpoint" : "promp_sdc_detect";
      gcall *c = gimple_build_call (runtime_function (name, false), 0);
      gimple_set_location (c, where);
      return c;
    };
    if (inside)
      {
        gimple_stmt_iterator i = gsi_after_labels (f.blocks_[nodes[0]]);
        gsi_insert_before (&i, call (), GSI_SAME_STMT);
        return;
      }
    std::set<basic_block> set;
    for (size_t i = 0; i < n; i++)
      set.insert (f.blocks_[nodes[i]]);
    for (basic_block bb : set)
      {
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE (e, ei, begins ? bb->preds : bb->succs)
          if (!set.count (begins ? e->src : e->dest) && !(e->flags & (EDGE_ABNORMAL | EDGE_EH)))
            gsi_insert_on_edge (e, call ());
      }
  }

  static void wrong (void *context, uint32_t node, const char *why)
  {
    error_at (((Function *) context)->place (&node, 1, false), "promp: %s", why);
  }

  function *fn_;
  std::map<basic_block, int> inside_;
  std::map<gimple *, int> depth_;
  std::map<basic_block, gimple *> leaf_;
  std::map<basic_block, size_t> number_;
  std::vector<basic_block> blocks_;
  std::vector<uint8_t> kinds_;
  std::vector<std::array<uint32_t, 2>> edges_;
};

const pass_data DATA
  = { GIMPLE_PASS, "promp_sections", OPTGROUP_OMP, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0,
      TODO_cleanup_cfg | TODO_update_ssa_only_virtuals };

struct Sections : gimple_opt_pass
{
  Sections () : gimple_opt_pass (DATA, g) {}
  bool gate (function *) final override { return flag_openmp || flag_openacc; }
  unsigned execute (function *fn) final override
  {
    if (!is_outlined (fn) || !lookup_attribute ("omp declare target", DECL_ATTRIBUTES (fn->decl)))
      Function (fn).run ();
    mark_virtual_operands_for_renaming (fn);
    return 0;
  }
};

} // namespace

opt_pass *make_sections_pass () { return new Sections; }
} // namespace promp
