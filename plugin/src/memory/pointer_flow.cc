// What each kind of statement says of where pointers lead (pointers.h).

#include "memory/pointers.h"
#include "ssa.h"
#include "cgraph.h"
#include "alias.h"
#include "tree-dfa.h"

namespace promp {

/// Is what `ref` means no pointer, nor a piece of one, by its type?
static bool is_no_pointer (tree ref)
{
  tree type = TREE_TYPE (ref);
  return options.foresee && flag_strict_aliasing && (INTEGRAL_TYPE_P (type) || SCALAR_FLOAT_TYPE_P (type))
         && !alias_sets_conflict_p (get_alias_set (ref), get_alias_set (ptr_type_node));
}

/// May the number be made of pointers, or of pieces of them?
bool Pointers::is_of_pointers (tree value, std::set<tree> &seen)
{
  if (TREE_CODE (value) == INTEGER_CST || TREE_CODE (value) == REAL_CST)
    return false;
  if (TREE_CODE (value) != SSA_NAME || SSA_NAME_IS_DEFAULT_DEF (value) || POINTER_TYPE_P (TREE_TYPE (value))
      || seen.size () > 100)
    return true;
  if (!seen.insert (value).second)
    return false;
  gimple *def = SSA_NAME_DEF_STMT (value);
  if (gphi *phi = dyn_cast<gphi *> (def))
    {
      for (unsigned k = 0; k < gimple_phi_num_args (phi); k++)
        if (is_of_pointers (gimple_phi_arg_def (phi, k), seen))
          return true;
      return false;
    }
  gassign *a = dyn_cast<gassign *> (def);
  if (!a)
    return true;
  if (gimple_assign_load_p (a))
    return !is_no_pointer (gimple_assign_rhs1 (a))
           && !contents (at (gimple_assign_rhs1 (a)), size_of (TREE_TYPE (value))).empty ();
  for (unsigned k = 1; k < gimple_num_ops (a); k++)
    if (is_of_pointers (gimple_op (a, k), seen))
      return true;
  return false;
}

/// `to` = `from`, a value or a whole object.
void Pointers::move (tree to, tree from)
{
  tree type = TREE_TYPE (to);
  bool from_memory = !is_value (from) && TREE_CODE (from) != CONSTRUCTOR;
  bool to_memory = TREE_CODE (to) != SSA_NAME;
  if (from_memory && to_memory)
    return copy (at (to), at (from), size_of (type));
  Targets what;
  if (from_memory ? is_no_pointer (from) : to_memory && is_no_pointer (to))
    return;
  if (from_memory)
    what = contents (at (from), size_of (type));
  else
    what = of (from);
  // A number that was made of a pointer can be made a pointer again by whoever reads it as one.
  std::set<tree> seen;
  if (!POINTER_TYPE_P (type) && !from_memory && TREE_CODE (from) == SSA_NAME && INTEGRAL_TYPE_P (type)
      && (!options.foresee || is_of_pointers (from, seen)))
    what = { { UNKNOWN, ANYWHERE } };
  if (to_memory)
    store (at (to), what);
  else
    into (to, what);
}

/// The address or value `rhs`, or the memory that it means, gets into `lhs`.
void Pointers::single (tree lhs, tree rhs)
{
  switch (TREE_CODE (rhs))
    {
    case OBJ_TYPE_REF:
    case ASSERT_EXPR:
      return into (lhs, { { UNKNOWN, ANYWHERE } });
    case COND_EXPR:
    case EQ_EXPR:
    case NE_EXPR:
      return;
    case REALPART_EXPR:
    case IMAGPART_EXPR:
    case VIEW_CONVERT_EXPR:
    case BIT_FIELD_REF:
      if (TREE_CODE (TREE_OPERAND (rhs, 0)) == SSA_NAME)
        return;
      break;
    case CONSTRUCTOR:
      for (unsigned i = 0; i < CONSTRUCTOR_NELTS (rhs); i++)
        {
          Targets t = of (CONSTRUCTOR_ELT (rhs, i)->value);
          escape (t);
        }
      return;
    default:
      break;
    }
  move (lhs, rhs);
}

void Pointers::assignment (gimple *s)
{
  tree lhs = gimple_assign_lhs (s), type = TREE_TYPE (lhs);
  enum tree_code code = gimple_assign_rhs_code (s);
  if (get_gimple_rhs_class (code) == GIMPLE_SINGLE_RHS)
    return single (lhs, gimple_assign_rhs1 (s));
  tree a = gimple_assign_rhs1 (s), b = gimple_num_ops (s) > 2 ? gimple_assign_rhs2 (s) : NULL_TREE;
  switch (code)
    {
    case POINTER_PLUS_EXPR:
      return into (lhs, moved (of (a), b));
    case POINTER_DIFF_EXPR:
    case EQ_EXPR:
    case NE_EXPR:
    case LT_EXPR:
    case LE_EXPR:
    case GT_EXPR:
    case GE_EXPR:
      return;
    case COND_EXPR:
      into (lhs, of (b));
      return into (lhs, of (gimple_assign_rhs3 (s)));
    default:
      break;
    }
  Targets all;
  for (unsigned i = 1; i < gimple_num_ops (s); i++)
    if (tree op = gimple_op (s, i))
      {
        if (POINTER_TYPE_P (TREE_TYPE (op)) || TREE_CODE (op) == ADDR_EXPR)
          merge (all, of (op));
        else if (POINTER_TYPE_P (type) && TREE_CODE (op) == SSA_NAME)
          all.insert ({ UNKNOWN, ANYWHERE });
      }
  if (CONVERT_EXPR_CODE_P (code) && POINTER_TYPE_P (type))
    into (lhs, all);
  else if (POINTER_TYPE_P (type))
    into (lhs, moved (all, NULL_TREE));
  else
    escape (all);
}

/// What `c` returns may lead to `t`.
void Pointers::result (gcall *c, const Targets &t)
{
  tree lhs = gimple_call_lhs (c);
  if (!lhs)
    return;
  if (TREE_CODE (lhs) == SSA_NAME)
    into (lhs, t);
  else
    store (moved (at (lhs), NULL_TREE), t);
}

/// Parameter `i` of a function of the unit may lead to `t`.
void Pointers::parameter (tree callee, unsigned i, const Targets &t)
{
  tree p = DECL_ARGUMENTS (callee);
  for (unsigned k = 0; p && k < i; k++)
    p = DECL_CHAIN (p);
  function *f = DECL_STRUCT_FUNCTION (callee);
  tree name = p && f && is_gimple_reg (p) ? ssa_default_def (f, p) : NULL_TREE;
  if (!p || !is_gimple_reg (p) || TREE_ADDRESSABLE (p))
    escape (t);
  else if (name)
    into (name, t);
}

/// The object that stands for all that `c`, in `fn`, allocates.
unsigned Pointers::allocated_by (gcall *c, tree fn)
{
  auto n = sites_.find (c);
  if (n == sites_.end ())
    {
      State s;
      s.is = { NULL_TREE, c, fn };
      objects_.push_back (s);
      n = sites_.insert ({ c, (unsigned)objects_.size () - 1 }).first;
      changed_ = true;
    }
  return n->second;
}

/// A function of the unit is called.
void Pointers::call_known (gcall *c, tree decl)
{
  tree lhs = gimple_call_lhs (c);
  for (unsigned i = 0; i < gimple_call_num_args (c); i++)
    {
      tree a = gimple_call_arg (c, i);
      if (is_value (a))
        parameter (decl, i, of (a));
      else
        escape (contents (at (a), ANYWHERE));
    }
  if (gimple_call_chain (c))
    escape (of (gimple_call_chain (c)));
  if (lhs && TREE_CODE (lhs) != SSA_NAME)
    store (moved (at (lhs), NULL_TREE), { { UNKNOWN, ANYWHERE } });
  auto r = returned_.find (decl);
  if (r != returned_.end ())
    result (c, r->second);
}

/// Whatever is called gets all that it is given.
void Pointers::call_unknown (gcall *c, tree decl)
{
  tree lhs = gimple_call_lhs (c);
  for (unsigned i = 0; i < gimple_call_num_args (c); i++)
    {
      tree a = gimple_call_arg (c, i);
      escape (is_value (a) ? of (a) : contents (at (a), ANYWHERE));
    }
  if (gimple_call_chain (c))
    escape (of (gimple_call_chain (c)));
  if (!decl && gimple_call_fn (c))
    escape (of (gimple_call_fn (c)));
  if (lhs && TREE_CODE (lhs) != SSA_NAME)
    escape (at (lhs));
  result (c, { { UNKNOWN, ANYWHERE } });
}

void Pointers::call (tree fn, gcall *c)
{
  tree lhs = gimple_call_lhs (c), decl = gimple_call_fndecl (c);
  if (tree region = region_of (c))
    {
      Targets data = of (gimple_call_arg (c, 1));
      if (is_known (region))
        parameter (region, 0, data);
      else
        escape (data);
      return;
    }
  if (is_allocation (c) && !(decl && is_known (decl)))
    return result (c, { { allocated_by (c, fn), 0 } });
  if (keeps_nothing (c) && !(decl && is_known (decl)))
    return;
  if (decl && gimple_call_builtin_p (c, BUILT_IN_NORMAL))
    switch (DECL_FUNCTION_CODE (decl))
      {
      case BUILT_IN_MEMCPY:
      case BUILT_IN_MEMMOVE:
        copy (moved (of (gimple_call_arg (c, 0)), NULL_TREE), moved (of (gimple_call_arg (c, 1)), NULL_TREE),
              ANYWHERE);
        // fall through
      case BUILT_IN_MEMSET:
        return result (c, of (gimple_call_arg (c, 0)));
      default:
        break;
      }
  bool quiet = (decl && fndecl_built_in_p (decl) && is_of_numbers (c))
               || (gimple_call_flags (c) & ECF_CONST && is_of_numbers (c));
  if (quiet && (!lhs || !POINTER_TYPE_P (TREE_TYPE (lhs))))
    return;
  if (decl && is_known (decl))
    call_known (c, decl);
  else
    call_unknown (c, decl);
}

void Pointers::statement (tree fn, gimple *s)
{
  switch (gimple_code (s))
    {
    case GIMPLE_ASSIGN:
      return assignment (s);
    case GIMPLE_CALL:
      return call (fn, as_a<gcall *> (s));
    case GIMPLE_RETURN:
      if (tree v = gimple_return_retval (as_a<greturn *> (s)))
        {
          Targets t = is_value (v) ? of (v) : contents (at (v), ANYWHERE);
          if (exposed_.count (fn) || !is_value (v))
            escape (t);
          add (returned_[fn], t);
        }
      return;
      case GIMPLE_ASM: {
        gasm *a = as_a<gasm *> (s);
        for (unsigned i = 0; i < gimple_asm_ninputs (a); i++)
          {
            tree v = TREE_VALUE (gimple_asm_input_op (a, i));
            escape (is_value (v) ? of (v) : at (v));
          }
        for (unsigned i = 0; i < gimple_asm_noutputs (a); i++)
          {
            tree v = TREE_VALUE (gimple_asm_output_op (a, i));
            if (TREE_CODE (v) == SSA_NAME)
              into (v, { { UNKNOWN, ANYWHERE } });
            else
              escape (at (v));
          }
        return;
      }
    default:
      return;
    }
}

} // namespace promp
