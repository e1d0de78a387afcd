// Where the pointers of a unit lead: objects, and slots of them at constant offsets, regardless of the order
// of what is executed (Andersen's way). An object is a variable, or what one allocation returns. One whose
// address gets to where this unit does not see it is known to others: these may read, write and keep it,
// and all that it leads to. What is not a pointer cannot become one here: a pointer that is converted to an
// integer, or is read as one, is known to others.

#include "memory/pointers.h"
#include "memory/memory.h"
#include "cgraph.h"
#include "ssa.h"
#include "tree-dfa.h"
#include "gimple-walk.h"
#include "alias.h"
#include "attribs.h"
#include <iterator>

namespace promp {

/// So many offsets of one object in one set; more are any.
static const int OFFSETS = 12;
/// So many rounds over the unit, and so many targets of one pointer.
static const unsigned ROUNDS = 40, TARGETS = 200;

static bool is_call_of (gimple *s, const char *prefix)
{
  return !strncmp (callee_name (s), prefix, strlen (prefix));
}

tree region_of (gimple *s)
{
  if (!is_call_of (s, "GOMP_parallel") || gimple_call_num_args (s) < 1)
    return NULL_TREE;
  tree f = gimple_call_arg (s, 0);
  return TREE_CODE (f) == ADDR_EXPR && TREE_CODE (TREE_OPERAND (f, 0)) == FUNCTION_DECL ? TREE_OPERAND (f, 0)
                                                                                        : NULL_TREE;
}

/// The name that `s` is linked by: nobody's method is called `free`.
static const char *symbol (gimple *s)
{
  tree decl = is_gimple_call (s) ? gimple_call_fndecl (s) : NULL_TREE;
  if (!decl || !TREE_PUBLIC (decl) || !HAS_DECL_ASSEMBLER_NAME_P (decl))
    return "";
  const char *name = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (decl));
  return name + (*name == '*');
}

bool is_allocation (gimple *s)
{
  for (const char *n : { "malloc", "calloc", "aligned_alloc", "memalign", "_Znwm", "_Znam",
                         "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t" })
    if (!strcmp (symbol (s), n))
      return true;
  return false;
}

static bool frees (gimple *s)
{
  return !strcmp (symbol (s), "free") || !strncmp (symbol (s), "_ZdlPv", 6)
         || !strncmp (symbol (s), "_ZdaPv", 6);
}

/// Calls that keep no pointer that they are given, and write nothing but numbers.
bool keeps_nothing (gimple *s)
{
  for (const char *n : { "GOMP_loop_", "GOMP_barrier", "GOMP_single_start", "GOMP_critical_", "GOMP_atomic_",
                         "GOMP_sections_", "GOMP_ordered_", "omp_get_", "__promp_" })
    if (!strncmp (callee_name (s), n, strlen (n)) && gimple_call_fndecl (s)
        && DECL_EXTERNAL (gimple_call_fndecl (s)))
      return true;
  return frees (s);
}

bool is_of_numbers (gimple *s)
{
  for (unsigned i = 0; i < gimple_call_num_args (s); i++)
    if (!SCALAR_FLOAT_TYPE_P (TREE_TYPE (gimple_call_arg (s, i)))
        && !INTEGRAL_TYPE_P (TREE_TYPE (gimple_call_arg (s, i))))
      return false;
  return true;
}

bool is_value (tree t)
{
  return TREE_CODE (t) == SSA_NAME || TREE_CODE (t) == ADDR_EXPR || CONSTANT_CLASS_P (t);
}

static HOST_WIDE_INT size_of (tree type)
{
  tree s = TYPE_SIZE_UNIT (type);
  return s && tree_fits_shwi_p (s) ? tree_to_shwi (s) : ANYWHERE;
}

unsigned Pointers::number_of (tree decl) const
{
  auto n = numbers_.find (decl);
  return n == numbers_.end () ? UNKNOWN : n->second;
}

unsigned Pointers::object_of (tree decl)
{
  auto n = numbers_.find (decl);
  if (n != numbers_.end ())
    return n->second;
  State s;
  s.is = { decl, nullptr, DECL_CONTEXT (decl) };
  objects_.push_back (s);
  unsigned o = objects_.size () - 1;
  numbers_[decl] = o;
  if (TREE_STATIC (decl) || DECL_EXTERNAL (decl))
    {
      varpool_node *v = varpool_node::get (decl);
      ipa_ref *ref = nullptr;
      bool shared = !v || TREE_PUBLIC (decl) || DECL_EXTERNAL (decl) || v->externally_visible || v->alias
                    || v->has_aliases_p () || DECL_PRESERVE_P (decl)
                    || lookup_attribute ("section", DECL_ATTRIBUTES (decl));
      for (unsigned k = 0; v && v->iterate_referring (k, ref); k++)
        shared = shared || is_a<varpool_node *> (ref->referring);
      if (shared)
        escape ({ { o, 0 } });
      // Addresses in it are those of variables, which are known to others by that.
      if (!v || v->iterate_reference (0, ref))
        objects_[o].slots[ANYWHERE].insert ({ UNKNOWN, ANYWHERE });
    }
  else if (TREE_CODE (decl) != VAR_DECL)
    escape ({ { o, 0 } });
  changed_ = true;
  return o;
}

/// Puts `what` into `to`; true: something is new.
static bool merge (Targets &to, const Targets &what)
{
  bool changed = false;
  for (const Target &t : what)
    if (!to.count (t) && !to.count ({ t.first, ANYWHERE }))
      {
        auto from = to.lower_bound ({ t.first, ANYWHERE }), end = to.lower_bound ({ t.first + 1, ANYWHERE });
        if (t.second == ANYWHERE || std::distance (from, end) >= OFFSETS)
          {
            to.erase (from, end);
            to.insert ({ t.first, ANYWHERE });
          }
        else
          to.insert (t);
        changed = true;
      }
  return changed;
}

void Pointers::add (Targets &to, const Targets &what)
{
  changed_ |= merge (to, what);
  too_much_ |= to.size () > TARGETS;
}

void Pointers::into (tree name, const Targets &what)
{
  if (TREE_CODE (name) == SSA_NAME)
    {
      if (POINTER_TYPE_P (TREE_TYPE (name)))
        add (names_[name], what);
      else
        escape (what);
    }
}

void Pointers::escape (const Targets &t)
{
  for (const Target &x : t)
    {
      State &o = objects_[x.first];
      if (o.escaped)
        continue;
      o.escaped = changed_ = true;
      std::map<HOST_WIDE_INT, Targets> slots = o.slots;
      o.slots[ANYWHERE].insert ({ UNKNOWN, ANYWHERE });
      for (auto &s : slots)
        escape (s.second);
    }
}

Targets Pointers::moved (const Targets &t, tree by)
{
  Targets out;
  for (const Target &x : t)
    {
      HOST_WIDE_INT offset = ANYWHERE;
      tree decl = objects_[x.first].is.decl;
      if (x.second != ANYWHERE && by && tree_fits_shwi_p (fold_convert (ssizetype, by)))
        {
          offset = x.second + tree_to_shwi (fold_convert (ssizetype, by));
          HOST_WIDE_INT most = decl ? size_of (TREE_TYPE (decl)) : 4096;
          if (offset < 0 || offset > most)
            offset = ANYWHERE;
        }
      out.insert ({ x.first, offset });
    }
  return out;
}

Targets Pointers::of (tree value)
{
  if (!value)
    return {};
  switch (TREE_CODE (value))
    {
      case SSA_NAME: {
        tree var = SSA_NAME_VAR (value);
        Targets t;
        if (SSA_NAME_IS_DEFAULT_DEF (value) && var && TREE_CODE (var) == RESULT_DECL)
          return { { UNKNOWN, ANYWHERE } };
        auto n = names_.find (value);
        return n == names_.end () ? t : n->second;
      }
    case ADDR_EXPR:
      return at (TREE_OPERAND (value, 0));
    case INTEGER_CST:
    case REAL_CST:
    case COMPLEX_CST:
    case STRING_CST:
    case CONSTRUCTOR:
      return {};
    default:
      return { { UNKNOWN, ANYWHERE } };
    }
}

Targets Pointers::at (tree ref)
{
  poly_int64 offset = 0;
  tree base = get_addr_base_and_unit_offset (ref, &offset);
  HOST_WIDE_INT at = ANYWHERE;
  bool constant = base && offset.is_constant (&at);
  if (!base)
    base = get_base_address (ref);
  if (!base)
    return { { UNKNOWN, ANYWHERE } };
  Targets out;
  if (TREE_CODE (base) == MEM_REF)
    {
      tree by = constant ? size_binop (PLUS_EXPR, build_int_cst (ssizetype, at),
                                       fold_convert (ssizetype, TREE_OPERAND (base, 1)))
                         : NULL_TREE;
      return moved (of (TREE_OPERAND (base, 0)), by);
    }
  if (TREE_CODE (base) == TARGET_MEM_REF)
    return moved (of (TREE_OPERAND (base, 0)), NULL_TREE);
  if (TREE_CODE (base) == FUNCTION_DECL || TREE_CODE (base) == LABEL_DECL || TREE_CODE (base) == STRING_CST)
    return {};
  if (!DECL_P (base) || TREE_CODE (base) == CONST_DECL)
    return { { UNKNOWN, ANYWHERE } };
  return { { object_of (base), constant && at >= 0 ? at : ANYWHERE } };
}

Targets Pointers::contents (const Targets &where, HOST_WIDE_INT size)
{
  Targets out;
  for (const Target &t : where)
    {
      if (is_known_to_others (t.first))
        out.insert ({ UNKNOWN, ANYWHERE });
      for (auto &s : objects_[t.first].slots)
        if (s.first == ANYWHERE || t.second == ANYWHERE || size == ANYWHERE
            || (s.first < t.second + size && t.second < s.first + 8))
          merge (out, s.second);
    }
  return out;
}

void Pointers::store (const Targets &where, const Targets &what)
{
  if (what.empty ())
    return;
  for (const Target &t : where)
    if (is_known_to_others (t.first))
      escape (what);
    else
      add (objects_[t.first].slots[t.second], what);
}

void Pointers::copy (const Targets &to, const Targets &from, HOST_WIDE_INT size)
{
  for (const Target &f : from)
    {
      if (is_known_to_others (f.first))
        store (moved (to, NULL_TREE), { { UNKNOWN, ANYWHERE } });
      std::map<HOST_WIDE_INT, Targets> slots = objects_[f.first].slots;
      for (auto &s : slots)
        if (s.first == ANYWHERE || f.second == ANYWHERE || size == ANYWHERE)
          store (moved (to, NULL_TREE), s.second);
        else if (s.first < f.second + size && f.second < s.first + 8)
          store (moved (to, build_int_cst (ssizetype, s.first - f.second)), s.second);
    }
}

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

void Pointers::assignment (gimple *s)
{
  tree lhs = gimple_assign_lhs (s), type = TREE_TYPE (lhs);
  enum tree_code code = gimple_assign_rhs_code (s);
  if (get_gimple_rhs_class (code) == GIMPLE_SINGLE_RHS)
    {
      tree rhs = gimple_assign_rhs1 (s);
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
      return move (lhs, rhs);
    }
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

void Pointers::call (tree fn, gcall *c)
{
  tree lhs = gimple_call_lhs (c), decl = gimple_call_fndecl (c);
  auto result = [&] (const Targets &t) {
    if (!lhs)
      return;
    if (TREE_CODE (lhs) == SSA_NAME)
      into (lhs, t);
    else
      store (moved (at (lhs), NULL_TREE), t);
  };
  auto parameter = [&] (tree callee, unsigned i, const Targets &t) {
    tree p = DECL_ARGUMENTS (callee);
    for (unsigned k = 0; p && k < i; k++)
      p = DECL_CHAIN (p);
    function *f = DECL_STRUCT_FUNCTION (callee);
    tree name = p && f && is_gimple_reg (p) ? ssa_default_def (f, p) : NULL_TREE;
    if (!p || !is_gimple_reg (p) || TREE_ADDRESSABLE (p))
      escape (t);
    else if (name)
      into (name, t);
  };
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
      return result ({ { n->second, 0 } });
    }
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
        return result (of (gimple_call_arg (c, 0)));
      default:
        break;
      }
  bool quiet = (decl && fndecl_built_in_p (decl) && is_of_numbers (c))
               || (gimple_call_flags (c) & ECF_CONST && is_of_numbers (c));
  if (quiet && (!lhs || !POINTER_TYPE_P (TREE_TYPE (lhs))))
    return;
  if (decl && is_known (decl))
    {
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
        result (r->second);
      return;
    }
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
  result ({ { UNKNOWN, ANYWHERE } });
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

bool Pointers::solve (const std::map<tree, function *> &functions, const std::set<tree> &exposed)
{
  State unknown;
  unknown.is = { NULL_TREE, nullptr, NULL_TREE };
  unknown.escaped = true;
  unknown.slots[ANYWHERE].insert ({ UNKNOWN, ANYWHERE });
  objects_.push_back (unknown);
  exposed_ = exposed;
  for (auto &f : functions)
    if (cgraph_node *n = cgraph_node::get (f.first))
      if (n->get_availability () >= AVAIL_AVAILABLE)
        known_.insert (f.first);
  for (auto &f : functions)
    for (tree p = DECL_ARGUMENTS (f.first); p; p = DECL_CHAIN (p))
      if (exposed.count (f.first) && is_gimple_reg (p))
        if (tree name = ssa_default_def (f.second, p))
          into (name, { { UNKNOWN, ANYWHERE } });
  unsigned rounds = 0;
  do
    {
      changed_ = false;
      for (auto &f : functions)
        {
          basic_block bb;
          if (tree chain = f.second->static_chain_decl)
            if (tree name = is_gimple_reg (chain) ? ssa_default_def (f.second, chain) : NULL_TREE)
              into (name, { { UNKNOWN, ANYWHERE } });
          FOR_EACH_BB_FN (bb, f.second)
          {
            for (gphi_iterator p = gsi_start_phis (bb); !gsi_end_p (p); gsi_next (&p))
              if (!virtual_operand_p (gimple_phi_result (p.phi ())))
                for (unsigned k = 0; k < gimple_phi_num_args (p.phi ()); k++)
                  into (gimple_phi_result (p.phi ()), of (gimple_phi_arg_def (p.phi (), k)));
            for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
              if (!is_gimple_debug (gsi_stmt (i)) && !gimple_clobber_p (gsi_stmt (i)))
                statement (f.first, gsi_stmt (i));
          }
        }
      if (too_much_ || ++rounds > ROUNDS)
        return false;
  } while (changed_);
  return true;
}

void Pointers::accesses (gimple *s, std::set<unsigned> *read, std::set<unsigned> *written)
{
  if (is_gimple_debug (s) || gimple_clobber_p (s))
    return;
  struct Both
  {
    Pointers *me;
    std::set<unsigned> *read, *written;
  } both = { this, read, written };
  walk_stmt_load_store_ops (
      s, &both,
      [] (gimple *, tree, tree ref, void *data) {
        for (const Target &t : ((Both *)data)->me->at (ref))
          ((Both *)data)->read->insert (t.first);
        return false;
      },
      [] (gimple *, tree, tree ref, void *data) {
        for (const Target &t : ((Both *)data)->me->at (ref))
          ((Both *)data)->written->insert (t.first);
        return false;
      });
  if (gimple_code (s) == GIMPLE_ASM && gimple_vuse (s))
    {
      read->insert (UNKNOWN);
      written->insert (UNKNOWN);
    }
  gcall *c = dyn_cast<gcall *> (s);
  tree decl = c ? gimple_call_fndecl (c) : NULL_TREE;
  if (!c || is_allocation (c) || region_of (c) || (decl && is_known (decl)))
    return;
  bool memory
      = decl && gimple_call_builtin_p (c, BUILT_IN_NORMAL)
        && (DECL_FUNCTION_CODE (decl) == BUILT_IN_MEMCPY || DECL_FUNCTION_CODE (decl) == BUILT_IN_MEMMOVE
            || DECL_FUNCTION_CODE (decl) == BUILT_IN_MEMSET);
  if (memory || keeps_nothing (c))
    {
      for (unsigned i = 0; i < gimple_call_num_args (c) && !frees (c) && !is_call_of (c, "__promp_"); i++)
        {
          bool first = i == 0;
          for (const Target &t : of (gimple_call_arg (c, i)))
            {
              if (!memory || first)
                written->insert (t.first);
              if (!memory || !first)
                read->insert (t.first);
            }
        }
      return;
    }
  if (!gimple_vuse (c) || (fndecl_built_in_p (decl ? decl : error_mark_node) && is_of_numbers (c)))
    return;
  read->insert (UNKNOWN);
  written->insert (UNKNOWN);
}

std::set<unsigned> Pointers::reached_from (unsigned object)
{
  std::set<unsigned> seen;
  std::vector<unsigned> todo = { object };
  while (!todo.empty ())
    {
      unsigned o = todo.back ();
      todo.pop_back ();
      if (!seen.insert (o).second)
        continue;
      for (auto &s : objects_[o].slots)
        for (const Target &t : s.second)
          todo.push_back (t.first);
    }
  return seen;
}

std::set<unsigned> Pointers::in_memory () const
{
  std::set<unsigned> all;
  for (auto &o : objects_)
    for (auto &s : o.slots)
      for (const Target &t : s.second)
        all.insert (t.first);
  return all;
}

std::string Pointers::name (unsigned object) const
{
  const Object &o = objects_[object].is;
  if (o.decl)
    return DECL_NAME (o.decl) ? IDENTIFIER_POINTER (DECL_NAME (o.decl)) : "?";
  if (!o.site)
    return "memory of others";
  // The pointer that it was first kept in.
  tree lhs = gimple_call_lhs (o.site);
  tree var = lhs && TREE_CODE (lhs) == SSA_NAME ? SSA_NAME_VAR (lhs) : NULL_TREE;
  for (auto &other : objects_)
    if (!var && other.is.decl && DECL_NAME (other.is.decl)
        && !strstr (IDENTIFIER_POINTER (DECL_NAME (other.is.decl)), ".omp_data"))
      for (auto &s : other.slots)
        if (s.second.size () == 1 && s.second.begin ()->first == object)
          var = other.is.decl;
  return var && DECL_NAME (var) ? IDENTIFIER_POINTER (DECL_NAME (var)) : "a block";
}

} // namespace promp
