// Which functions calls through pointers may lead to: through variables that only this unit knows, the one
// that is stored in them; through others, any of those whose addresses are taken.

#include "memory/pointed_functions.h"
#include "memory/memory.h"
#include "memory/outside.h"
#include "ssa.h"
#include "cgraph.h"
#include "gimple-walk.h"
#include <map>
#include <set>

namespace promp {
namespace {

/// Function pointers of the unit that only its code knows, with the one function that they can lead to; and
/// variables of which that is not known.
std::map<tree, tree> pointed_to;
std::set<tree> several;

/// Functions of the unit whose addresses are taken.
std::vector<tree> taken;

/// Can nothing but the code of this unit, by its name, access the variable?
bool is_known_pointer (tree d)
{
  if (!VAR_P (d) || !POINTER_TYPE_P (TREE_TYPE (d)) || TREE_CODE (TREE_TYPE (TREE_TYPE (d))) != FUNCTION_TYPE
      || !TREE_STATIC (d) || TREE_PUBLIC (d) || DECL_EXTERNAL (d) || TREE_THIS_VOLATILE (d))
    return false;
  varpool_node *n = varpool_node::get (d);
  ipa_ref *r = nullptr;
  for (unsigned i = 0; n && n->iterate_referring (i, r); i++)
    if (r->use == IPA_REF_ADDR || r->use == IPA_REF_ALIAS)
      return false;
  return n && !n->alias && !n->has_aliases_p () && !n->externally_visible && !DECL_PRESERVE_P (d);
}

/// The variable holds (or gets) `value`: a function, or nothing.
void can_be (tree d, tree value)
{
  STRIP_NOPS (value);
  auto known = pointed_to.insert ({ d, NULL_TREE });
  if (integer_zerop (value))
    return;
  tree f = TREE_CODE (value) == ADDR_EXPR ? TREE_OPERAND (value, 0) : NULL_TREE;
  bool one = f && TREE_CODE (f) == FUNCTION_DECL
             && (known.second || !known.first->second || known.first->second == f);
  if (one && !several.count (d))
    known.first->second = f;
  else
    {
      several.insert (d);
      known.first->second = NULL_TREE;
    }
}

tree note_mention (tree *t, int *, void *)
{
  if (VAR_P (*t))
    several.insert (*t);
  return NULL_TREE;
}

/// Finds out to which functions the unit's own pointers can lead that `fn` uses.
void note_pointers (function *fn)
{
  basic_block bb;
  FOR_EACH_BB_FN (bb, fn)
    {
      for (gphi_iterator p = gsi_start_phis (bb); !gsi_end_p (p); gsi_next (&p))
        for (unsigned i = 0; i < gimple_phi_num_args (p.phi ()); i++)
          walk_tree (gimple_phi_arg_def_ptr (p.phi (), i), note_mention, nullptr, nullptr);
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        {
          gimple *s = gsi_stmt (i);
          if (is_gimple_debug (s) || gimple_clobber_p (s))
            continue;
          gassign *a = gimple_assign_single_p (s) ? as_a<gassign *> (s) : nullptr;
          tree to = a ? gimple_assign_lhs (a) : NULL_TREE, from = a ? gimple_assign_rhs1 (a) : NULL_TREE;
          if (a && VAR_P (to) && is_known_pointer (to) && TREE_CODE (from) == ADDR_EXPR)
            can_be (to, from);
          else if (a && VAR_P (to) && is_known_pointer (to) && integer_zerop (from))
            continue;
          else if (a && TREE_CODE (to) == SSA_NAME && VAR_P (from) && is_known_pointer (from))
            {
              if (tree first = DECL_INITIAL (from))
                can_be (from, first);
              else
                pointed_to.insert ({ from, NULL_TREE });
            }
          else
            for (unsigned k = 0; k < gimple_num_ops (s); k++)
              walk_tree (gimple_op_ptr (s, k), note_mention, nullptr, nullptr);
        }
    }
}

} // namespace

void note_function_pointers ()
{
  cgraph_node *node;
  bool unseen = false;
  FOR_EACH_FUNCTION_WITH_GIMPLE_BODY (node)
    if (!node->clone_of && !node->inlined_to && !node->thunk && !node->alias)
      {
        node->get_body ();
        function *fn = DECL_STRUCT_FUNCTION (node->decl);
        if (fn && fn->cfg && gimple_in_ssa_p (fn))
          note_pointers (fn);
        else
          unseen = true;
      }
  for (tree d : several)
    pointed_to.erase (d);
  if (unseen)
    pointed_to.clear ();
  for (auto &p : pointed_to)
    {
      keep (p.first);
      keep (p.second);
    }
  FOR_EACH_FUNCTION_WITH_GIMPLE_BODY (node)
    if (node->address_taken && !node->alias && !node->thunk && !node->clone_of
        && !is_outlined (DECL_STRUCT_FUNCTION (node->decl)))
      {
        taken.push_back (node->decl);
        keep (node->decl);
      }
}

tree target_of (gcall *call)
{
  if (gimple_call_internal_p (call))
    return NULL_TREE;
  if (tree decl = gimple_call_fndecl (call))
    return decl;
  tree p = gimple_call_fn (call);
  gimple *def = p && TREE_CODE (p) == SSA_NAME ? SSA_NAME_DEF_STMT (p) : nullptr;
  tree from = def && gimple_assign_load_p (def) ? gimple_assign_rhs1 (def) : NULL_TREE;
  auto known = from ? pointed_to.find (from) : pointed_to.end ();
  return known == pointed_to.end () ? NULL_TREE : known->second;
}

/// Are the types passed in the same way?
static bool is_passed_alike (tree a, tree b)
{
  return TYPE_MODE (a) == TYPE_MODE (b) && POINTER_TYPE_P (a) == POINTER_TYPE_P (b)
         && AGGREGATE_TYPE_P (a) == AGGREGATE_TYPE_P (b);
}

static bool is_called_alike (tree a, tree b)
{
  tree p = TYPE_ARG_TYPES (a), q = TYPE_ARG_TYPES (b);
  for (; p && q; p = TREE_CHAIN (p), q = TREE_CHAIN (q))
    if (!is_passed_alike (TREE_VALUE (p), TREE_VALUE (q)))
      return false;
  return !p && !q && is_passed_alike (TREE_TYPE (a), TREE_TYPE (b));
}

std::vector<tree> pointed_targets (gcall *call)
{
  const size_t too_many = 8;
  tree p = gimple_call_fn (call), type = gimple_call_fntype (call);
  std::vector<tree> all;
  // Not what has no prototype, or any number of arguments: the lists of types end differently.
  if (!p || TREE_CODE (p) != SSA_NAME || !type || !prototype_p (type) || stdarg_p (type))
    return all;
  for (tree f : taken)
    if (is_called_alike (type, TREE_TYPE (f)))
      all.push_back (f);
  return all.size () > too_many ? std::vector<tree> () : all;
}

} // namespace promp
