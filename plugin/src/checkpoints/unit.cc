// The unit as the search for dead memory sees it: functions and who calls them, which of them others may
// call, what they read, the nests of loops in them, and where checkpoints may be taken.

#include "checkpoints/unit.h"
#include "memory/memory.h"
#include "cgraph.h"
#include "ssa.h"
#include "tree-cfg.h"
#include "tree-eh.h"
#include "tree-ssa-loop.h"
#include "gimple-walk.h"
#include "cfgloop.h"
#include "attribs.h"

namespace promp {

bool is_main (tree decl)
{
  return MAIN_NAME_P (DECL_NAME (decl))
         || !strcmp (IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (decl)), "MAIN__");
}

Function *Unit::called (gimple *s)
{
  if (!is_gimple_call (s))
    return nullptr;
  tree region = region_of (s), decl = region ? region : gimple_call_fndecl (s);
  auto f = decl && pointers.is_known (decl) ? functions.find (decl) : functions.end ();
  return f == functions.end () ? nullptr : &f->second;
}

bool Unit::is_unknown_call (gimple *s)
{
  if (!is_gimple_call (s) || called (s) || keeps_nothing (s) || is_allocation (s) || !gimple_vuse (s))
    return false;
  tree decl = gimple_call_fndecl (s);
  if (decl && gimple_call_builtin_p (s, BUILT_IN_NORMAL))
    switch (DECL_FUNCTION_CODE (decl))
      {
      case BUILT_IN_MEMCPY:
      case BUILT_IN_MEMMOVE:
      case BUILT_IN_MEMSET:
        return false;
      default:
        return !is_of_numbers (s);
      }
  return !gimple_call_internal_p (s);
}

bool Unit::ends_program (tree decl)
{
  if (!is_main (decl))
    return false;
  for (auto &c : callers[decl])
    if (MAIN_NAME_P (DECL_NAME (decl)) || !MAIN_NAME_P (DECL_NAME (c.first->fn->decl)))
      return false;
  return true;
}

const std::set<unsigned> &Unit::reads (gimple *s)
{
  static const std::set<unsigned> nothing;
  auto r = reads_.find (s);
  return r == reads_.end () ? nothing : r->second;
}

const char *Unit::why_not (unsigned object)
{
  tree d = pointers.object (object).decl;
  if (d && (TREE_PUBLIC (d) || DECL_EXTERNAL (d)))
    return "other files may use it";
  if (d && (DECL_THREAD_LOCAL_P (d) || TREE_THIS_VOLATILE (d)))
    return "it is of a special kind";
  if (pointers.is_known_to_others (object))
    return "its address gets to where it is not seen";
  if (banned_.count (object))
    return "a function uses it that others may call";
  return nullptr;
}

std::set<Function *> Unit::closure (Function &f)
{
  std::set<Function *> seen;
  std::vector<Function *> todo = { &f };
  while (!todo.empty ())
    {
      Function *g = todo.back ();
      todo.pop_back ();
      if (!seen.insert (g).second)
        continue;
      for (tree d : g->calls)
        {
          auto n = functions.find (d);
          if (n != functions.end ())
            todo.push_back (&n->second);
        }
    }
  return seen;
}

bool Unit::calls_unknown (Function &f)
{
  for (Function *g : closure (f))
    if (g->calls_unknown)
      return true;
  return false;
}

bool Unit::touches (Function &f, const std::set<unsigned> &objects)
{
  for (Function *g : closure (f))
    {
      if (g->calls_unknown)
        return true;
      for (unsigned o : objects)
        if (g->reads.count (o))
          return true;
      for (Nest &n : g->nests)
        for (unsigned o : n.objects)
          if (objects.count (o))
            return true;
    }
  return false;
}

namespace {

struct Mentioned
{
  std::set<tree> functions, variables;
};

tree note_mentioned (tree *t, int *, void *data)
{
  if (TREE_CODE (*t) == FUNCTION_DECL)
    ((Mentioned *)data)->functions.insert (*t);
  else if (VAR_P (*t) && (TREE_STATIC (*t) || DECL_EXTERNAL (*t)))
    ((Mentioned *)data)->variables.insert (*t);
  return NULL_TREE;
}

} // namespace

/// What functions mention otherwise than to call it.
struct Unit::Mentions
{
  std::map<tree, std::set<tree>> variables; ///< by function
  std::set<tree> functions;
};

/// Finds the functions; false: somebody is not seen, or control jumps where no edge leads.
bool Unit::find_functions (std::map<tree, function *> *bodies)
{
  cgraph_node *node;
  FOR_EACH_FUNCTION_WITH_GIMPLE_BODY (node)
  {
    function *fn = DECL_STRUCT_FUNCTION (node->decl);
    if (!fn || !fn->cfg || !gimple_in_ssa_p (fn) || fn->calls_setjmp || fn->has_nonlocal_label)
      return false;
    functions[node->decl].fn = fn;
    (*bodies)[node->decl] = fn;
  }
  return true;
}

/// Notes what `s`, in `f`, calls and mentions. Is it a region, or a place?
static bool note_statement (gimple *s, Function &f, Mentioned *in)
{
  tree region = is_gimple_call (s) ? region_of (s) : NULL_TREE;
  for (unsigned k = 0; k < gimple_num_ops (s); k++)
    {
      tree *op = gimple_op_ptr (s, k);
      bool is_called = is_gimple_call (s) && (k == 1 || (region && k == 3));
      if (*op && !is_called)
        walk_tree_without_duplicates (op, note_mentioned, in);
    }
  if (region)
    f.calls.insert (region);
  if (is_gimple_call (s) && gimple_call_fndecl (s))
    f.calls.insert (gimple_call_fndecl (s));
  return region || !strncmp (callee_name (s), "__promp_potential_ckpt", 22);
}

/// Notes what the functions call and mention. Is there a region, or a place?
bool Unit::note_mentions (Mentions *all)
{
  bool any = false;
  for (auto &f : functions)
    {
      basic_block bb;
      Mentioned in;
      FOR_EACH_BB_FN (bb, f.second.fn)
      {
        for (gphi_iterator p = gsi_start_phis (bb); !gsi_end_p (p); gsi_next (&p))
          for (unsigned k = 0; k < gimple_phi_num_args (p.phi ()); k++)
            if (tree a = gimple_phi_arg_def (p.phi (), k))
              walk_tree_without_duplicates (&a, note_mentioned, &in);
        for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
          if (!is_gimple_debug (gsi_stmt (i)) && note_statement (gsi_stmt (i), f.second, &in))
            any = true;
      }
      all->functions.insert (in.functions.begin (), in.functions.end ());
      all->variables[f.first] = in.variables;
    }
  return any;
}

/// Finds the functions that others may call.
void Unit::find_exposed (const Mentions &mentions)
{
  cgraph_node *node;
  ipa_ref *ref = nullptr;
  FOR_EACH_FUNCTION_WITH_GIMPLE_BODY (node)
  {
    tree d = node->decl;
    bool others = TREE_PUBLIC (d) || node->externally_visible || node->alias || node->has_aliases_p ()
                  || DECL_STATIC_CONSTRUCTOR (d) || DECL_STATIC_DESTRUCTOR (d) || DECL_PRESERVE_P (d)
                  || mentions.functions.count (d) || node->thunk;
    for (unsigned k = 0; node->iterate_referring (k, ref); k++)
      others = others || is_a<varpool_node *> (ref->referring);
    if (others && !is_main (d))
      exposed_.insert (d);
  }
}

/// What statements of the function read and write, and whom they call.
void Unit::note_accesses (Function &f)
{
  basic_block bb;
  FOR_EACH_BB_FN (bb, f.fn)
  for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
    {
      gimple *s = gsi_stmt (i);
      std::set<unsigned> written;
      std::set<unsigned> read;
      pointers.accesses (s, &read, &written);
      f.reads.insert (read.begin (), read.end ());
      if (!read.empty ())
        reads_[s] = read;
      bool unknown = is_unknown_call (s);
      f.calls_unknown = f.calls_unknown || unknown;
      for (unsigned o : written)
        if (!unknown || o != UNKNOWN)
          writers[o].push_back ({ &f, s });
      if (Function *g = called (s))
        callers[g->fn->decl].push_back ({ &f, s });
    }
}

bool Unit::survey ()
{
  if (symtab->first_asm_symbol ())
    return false; // it may use anything
  std::map<tree, function *> bodies;
  Mentions mentions;
  if (!find_functions (&bodies) || !note_mentions (&mentions))
    return false;
  find_exposed (mentions);
  std::set<tree> exposed = exposed_;
  for (auto &f : functions)
    if (is_main (f.first))
      exposed.insert (f.first);
  if (!pointers.solve (bodies, exposed))
    return false;
  // What variables lead to that functions use, by way of whatever, which somebody else may call.
  for (tree d : exposed_)
    {
      auto f = functions.find (d);
      if (f != functions.end ())
        for (Function *g : closure (f->second))
          for (tree v : mentions.variables[g->fn->decl])
            for (unsigned o : pointers.reached_from (pointers.number_of (v)))
              banned_.insert (o);
    }
  for (auto &f : functions)
    note_accesses (f.second);
  for (auto &f : functions)
    look_into (f.second);
  return true;
}

/// Nests and places of a function.
void Unit::look_into (Function &f)
{
  push_cfun (f.fn);
  calculate_dominance_info (CDI_DOMINATORS);
  loop_optimizer_init (LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
  f.nests = nests_of (f.fn, pointers, [&] (tree callee) {
    for (Function *g : closure (functions.at (callee)))
      if (g->calls_unknown || g == &f)
        return false;
    return true;
  });
  for (Nest &n : f.nests)
    written_.insert (n.objects.begin (), n.objects.end ());
  for (Nest &n : f.nests)
    if (n.start)
      f.shared[n.start].push_back (&n);
    else
      f.serial[n.header].push_back (&n);
  std::set<class loop *> around;
  basic_block bb;
  FOR_EACH_BB_FN (bb, f.fn)
  for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
    {
      gimple *s = gsi_stmt (i);
      if (!strncmp (callee_name (s), "__promp_potential_ckpt", 22))
        f.places.push_back (s);
      if (is_gimple_call (s) && region_of (s) && !is_outlined (f.fn) && loop_depth (bb->loop_father) > 0)
        around.insert (superloop_at_depth (bb->loop_father, 1));
    }
  if (f.places.empty ())
    for (class loop *l : around)
      {
        // Behind the test that ends the loop, if it begins with that.
        basic_block at = l->header;
        edge e, exit = single_exit (l);
        edge_iterator ei;
        if (exit && exit->src == at)
          FOR_EACH_EDGE (e, ei, exit->src->succs)
        if (e != exit && single_pred_p (e->dest))
          at = e->dest;
        f.heads.push_back (at);
      }
  loop_optimizer_finalize ();
  pop_cfun ();
}

} // namespace promp
