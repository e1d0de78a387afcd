// The code that will be executed from a place on, as words for the runtime, which goes ahead through it while
// the program stands at the place (src/ckpt/foresee/mod.rs has the form and the reasons): what functions of
// this unit do with memory, pointers and integers. What it cannot say ends the program there (STOP): that is
// always right.

#include "foresee.h"
#include "memory.h"
#include "ssa.h"
#include "cgraph.h"
#include "cfganal.h"
#include "cfgloop.h"
#include "tree-cfg.h"
#include "tree-dfa.h"
#include "tree-eh.h"
#include "tree-ssa-loop.h"
#include "fold-const.h"
#include <algorithm>

namespace promp {
namespace {

/// Limits of a program: src/team/said.rs has the same number of slots.
const size_t WORDS = 100000, FUNCTIONS = 60, SLOTS = 128;
const uint64_t MAGIC = 0x70726f6d70610001, NONE = ~(uint64_t)0;

enum Instruction
{
  ASSIGN = 1,
  FORGET,
  LOAD,
  STORE,
  FILL,
  COPY,
  CALL,
  REGION,
  START,
  NEXT,
  END,
  BARRIER,
  SINGLE,
  JUMP = 20,
  TEST,
  RETURN,
  STOP
};

/// In the order of src/ckpt/foresee/value.rs.
enum Op
{
  OP_COPY,
  OP_ADD,
  OP_SUB,
  OP_MUL,
  OP_DIV,
  OP_MOD,
  OP_AND,
  OP_OR,
  OP_XOR,
  OP_SHL,
  OP_SHR,
  OP_MIN,
  OP_MAX,
  OP_EQ,
  OP_NE,
  OP_LT,
  OP_LE,
  OP_GT,
  OP_GE,
  OP_NEG,
  OP_NOT,
  OP_NONE
};

Op op_of (enum tree_code code)
{
  switch (code)
    {
    case PLUS_EXPR:
    case POINTER_PLUS_EXPR:
      return OP_ADD;
    case MINUS_EXPR:
    case POINTER_DIFF_EXPR:
      return OP_SUB;
    case MULT_EXPR:
      return OP_MUL;
    case TRUNC_DIV_EXPR:
    case EXACT_DIV_EXPR:
      return OP_DIV;
    case TRUNC_MOD_EXPR:
      return OP_MOD;
    case BIT_AND_EXPR:
      return OP_AND;
    case BIT_IOR_EXPR:
      return OP_OR;
    case BIT_XOR_EXPR:
      return OP_XOR;
    case LSHIFT_EXPR:
      return OP_SHL;
    case RSHIFT_EXPR:
      return OP_SHR;
    case MIN_EXPR:
      return OP_MIN;
    case MAX_EXPR:
      return OP_MAX;
    case EQ_EXPR:
      return OP_EQ;
    case NE_EXPR:
      return OP_NE;
    case LT_EXPR:
      return OP_LT;
    case LE_EXPR:
      return OP_LE;
    case GT_EXPR:
      return OP_GT;
    case GE_EXPR:
      return OP_GE;
    case NEGATE_EXPR:
      return OP_NEG;
    case BIT_NOT_EXPR:
      return OP_NOT;
    default:
      return CONVERT_EXPR_CODE_P (code) ? OP_COPY : OP_NONE;
    }
}

/// Is a value of it a number of 64 bits at most?
bool is_number (tree type)
{
  return (INTEGRAL_TYPE_P (type) || POINTER_TYPE_P (type)) && TYPE_PRECISION (type) <= 64;
}

uint64_t kind_of (tree type)
{
  bool is_signed = INTEGRAL_TYPE_P (type) && !TYPE_UNSIGNED (type);
  return TYPE_PRECISION (type) | (is_signed ? 0x100 : 0);
}

struct Operand
{
  uint64_t kind, word;
};
const Operand UNKNOWN_VALUE = { 3, 0 };

class Writer
{
public:
  Writer (Unit &unit, Function &f, basic_block bb, gimple *call)
      : unit_ (unit), place_ (f), place_bb_ (bb), call_ (call)
  {
  }

  bool run (Foresight *out)
  {
    tree decl = place_.fn->decl;
    bool in_region = is_outlined (place_.fn);
    std::set<tree> inside = executed_in_regions ();
    if (in_region ? !is_of_plain_region (decl, inside) : inside.count (decl))
      return false;
    words_ = { MAGIC, 0, 0, 0, 0, in_region };
    // The registers that slots are for come later: room is left behind the records.
    todo_.push_back ({ decl, true });
    std::set<std::pair<tree, bool>> done;
    while (!todo_.empty ())
      {
        auto next = todo_.back ();
        todo_.pop_back ();
        if (!done.insert (next).second)
          continue;
        if (done.size () > FUNCTIONS || words_.size () > WORDS)
          return false;
        body (unit_.functions.at (next.first), next.second);
      }
    if (entry_code_ == 0 || slots_.size () > SLOTS)
      return false;
    for (auto &c : calls_)
      words_[c.first] = records_.at (c.second);
    // The list of registers is put in front, and all offsets moved by its length.
    size_t by = 1 + 2 * held_.size ();
    for (size_t at : offsets_)
      words_[at] += by;
    for (size_t at : items_)
      words_[at] += by << 2;
    std::vector<uint64_t> list = { held_.size () };
    for (auto &h : held_)
      list.push_back (h.first), list.push_back (h.second);
    words_[2] = slots_.size ();
    words_[3] = records_.at ({ decl, true }) + by;
    words_[4] = entry_code_ + by;
    words_.insert (words_.begin () + 6, list.begin (), list.end ());
    words_[1] = words_.size ();
    out->words = words_;
    out->slots = slots_;
    return true;
  }

private:
  /// Functions that a region executes, or may.
  std::set<tree> executed_in_regions ()
  {
    std::set<tree> seen;
    std::vector<tree> todo;
    for (auto &f : unit_.functions)
      if (is_outlined (f.second.fn))
        for (tree c : f.second.calls)
          todo.push_back (c);
    while (!todo.empty ())
      {
        tree d = todo.back ();
        todo.pop_back ();
        auto f = unit_.functions.find (d);
        if (f != unit_.functions.end () && seen.insert (d).second)
          for (tree c : f->second.calls)
            todo.push_back (c);
      }
    return seen;
  }

  /// An outermost region as a whole, nothing else.
  bool is_of_plain_region (tree decl, const std::set<tree> &inside)
  {
    auto &callers = unit_.callers[decl];
    bool is = !callers.empty () && !inside.count (decl);
    for (auto &c : callers)
      is = is && region_of (c.second) && !strcmp (callee_name (c.second), "GOMP_parallel")
           && !is_outlined (c.first->fn) && !inside.count (c.first->fn->decl);
    return is;
  }

  void put (uint64_t word) { words_.push_back (word); }
  void put (Operand o)
  {
    put (o.kind);
    put (o.word);
  }
  void put_offset (uint64_t offset)
  {
    offsets_.push_back (words_.size ());
    put (offset);
  }

  uint64_t slot (tree value)
  {
    for (size_t k = 0; k < slots_.size (); k++)
      if (operand_equal_p (slots_[k], value))
        return k;
    slots_.push_back (value);
    return slots_.size () - 1;
  }

  uint64_t register_of (tree name)
  {
    auto r = registers_.insert ({ name, count_ });
    if (r.second)
      count_++;
    return r.first->second;
  }

  /// A variable's address, so many bytes on.
  Operand address_of (tree d, HOST_WIDE_INT at)
  {
    if (!VAR_P (d) || TREE_THIS_VOLATILE (d) || !DECL_SIZE_UNIT (d) || !tree_fits_shwi_p (DECL_SIZE_UNIT (d)))
      return UNKNOWN_VALUE;
    if (TREE_STATIC (d) || DECL_EXTERNAL (d))
      {
        if (DECL_THREAD_LOCAL_P (d) || DECL_HARD_REGISTER (d))
          return UNKNOWN_VALUE;
        TREE_ADDRESSABLE (d) = 1;
        return plus ({ 2, slot (build_fold_addr_expr (d)) }, at);
      }
    if (!auto_var_in_fn_p (d, fn_->decl))
      return UNKNOWN_VALUE;
    if (entry_ && TREE_ADDRESSABLE (d))
      {
        // In serial code it is where it is. A thread's own is looked at apart.
        if (!is_outlined (fn_))
          return plus ({ 2, slot (build_fold_addr_expr (d)) }, at);
        if (is_pointed_to (d))
          return UNKNOWN_VALUE;
      }
    auto known = locals_.find (d);
    if (known == locals_.end ())
      {
        known = locals_.insert ({ d, bytes_ }).first;
        bytes_ += (tree_to_shwi (DECL_SIZE_UNIT (d)) + 15) / 16 * 16;
      }
    return { 4, (uint64_t)(known->second + at) };
  }

  /// Can a pointer lead to it that is kept at the place, in memory or in a variable?
  bool is_pointed_to (tree d)
  {
    if (pointed_.empty ())
      {
        pointed_ = unit_.pointers.in_memory ();
        pointed_.insert (UNKNOWN);
        unsigned k;
        tree name;
        FOR_EACH_SSA_NAME (k, name, fn_)
          if (!virtual_operand_p (name) && is_known_at_place (name))
            for (const Target &t : unit_.pointers.of (name))
              pointed_.insert (t.first);
      }
    unsigned o = unit_.pointers.number_of (d);
    return pointed_.count (o) || unit_.pointers.is_known_to_others (o);
  }

  Operand assign (Op op, tree to, tree from, Operand a, Operand b)
  {
    uint64_t r = count_++;
    put (ASSIGN), put (op), put (r), put (kind_of (to)), put (kind_of (from)), put (a), put (b);
    return { 1, r };
  }

  Operand plus (Operand a, HOST_WIDE_INT by)
  {
    return by == 0 ? a : assign (OP_ADD, sizetype, sizetype, a, { 0, (uint64_t)by });
  }

  /// A value that needs no instructions.
  Operand simple (tree t)
  {
    if (t && TREE_CODE (t) == INTEGER_CST && is_number (TREE_TYPE (t)))
      return { 0, TYPE_UNSIGNED (TREE_TYPE (t)) || POINTER_TYPE_P (TREE_TYPE (t))
                    ? (uint64_t)wi::to_wide (t).to_uhwi () : (uint64_t)wi::to_wide (t).to_shwi () };
    if (t && TREE_CODE (t) == SSA_NAME && is_number (TREE_TYPE (t))
        && (!SSA_NAME_IS_DEFAULT_DEF (t)
            || (SSA_NAME_VAR (t) && TREE_CODE (SSA_NAME_VAR (t)) == PARM_DECL)))
      return { 1, register_of (t) };
    return UNKNOWN_VALUE;
  }

  Operand value (tree e)
  {
    if (TREE_CODE (e) == ADDR_EXPR)
      return address (TREE_OPERAND (e, 0));
    Op op = op_of (TREE_CODE (e));
    if (op == OP_NONE || !is_number (TREE_TYPE (e)) || !is_number (TREE_TYPE (TREE_OPERAND (e, 0))))
      return simple (e);
    tree from = TREE_TYPE (TREE_OPERAND (e, 0));
    Operand a = value (TREE_OPERAND (e, 0)),
            b = BINARY_CLASS_P (e) || COMPARISON_CLASS_P (e) ? value (TREE_OPERAND (e, 1)) : UNKNOWN_VALUE;
    return assign (op, TREE_TYPE (e), from, a, b);
  }

  /// Where `ref` is, in whole bytes.
  Operand address (tree ref)
  {
    poly_int64 bits, pos;
    tree offset;
    machine_mode mode;
    int u, r, vol;
    tree base = get_inner_reference (ref, &bits, &pos, &offset, &mode, &u, &r, &vol);
    HOST_WIDE_INT at;
    if (!pos.is_constant (&at) || at % 8)
      return UNKNOWN_VALUE;
    at /= 8;
    Operand p = UNKNOWN_VALUE;
    if (TREE_CODE (base) == MEM_REF && tree_fits_shwi_p (TREE_OPERAND (base, 1)))
      p = plus (value (TREE_OPERAND (base, 0)), at + tree_to_shwi (TREE_OPERAND (base, 1)));
    else if (DECL_P (base))
      p = address_of (base, at);
    if (p.kind == 3 || !offset)
      return p;
    return assign (OP_ADD, sizetype, sizetype, p, value (fold_convert (sizetype, offset)));
  }

  /// May what is written there be dead? Nobody else knows of it.
  bool is_ours (const Targets &where)
  {
    for (const Target &t : where)
      if (t.first == UNKNOWN || unit_.why_not (t.first))
        return false;
    return !where.empty ();
  }

  bool size_of (tree type, uint64_t *out)
  {
    tree s = TYPE_SIZE_UNIT (type);
    if (!s || !tree_fits_shwi_p (s))
      return false;
    *out = tree_to_shwi (s);
    return true;
  }

  /// False: nothing is known of what it does.
  bool statement (gimple *s)
  {
    if (gimple_code (s) == GIMPLE_LABEL || gimple_code (s) == GIMPLE_NOP || gimple_code (s) == GIMPLE_PREDICT
        || is_gimple_debug (s) || gimple_clobber_p (s))
      return true;
    if (gimple_has_volatile_ops (s) || stmt_can_throw_external (fn_, s) || stmt_can_throw_internal (fn_, s))
      return false;
    if (gassign *a = dyn_cast<gassign *> (s))
      return assignment (a);
    if (gcall *c = dyn_cast<gcall *> (s))
      return called (c);
    return false;
  }

  bool assignment (gassign *a)
  {
    tree lhs = gimple_assign_lhs (a), rhs = gimple_assign_rhs1 (a), type = TREE_TYPE (lhs);
    enum tree_code code = gimple_assign_rhs_code (a);
    uint64_t size;
    auto in_bits = [] (tree ref) {
      return TREE_CODE (ref) == BIT_FIELD_REF
             || (TREE_CODE (ref) == COMPONENT_REF && DECL_BIT_FIELD (TREE_OPERAND (ref, 1)));
    };
    if (gimple_store_p (a))
      {
        if (!size_of (type, &size) || in_bits (lhs))
          return false;
        Operand to = address (lhs);
        uint64_t ours = is_ours (unit_.pointers.at (lhs));
        if (size == 0)
          return true;
        if (TREE_CODE (rhs) == CONSTRUCTOR)
          put (FILL), put (ours), put (to), put (Operand{ 0, size });
        else if (gimple_assign_load_p (a) || !is_value (rhs))
          {
            if (in_bits (rhs) || TREE_CODE (rhs) == STRING_CST)
              return false;
            Operand from = address (rhs);
            put (COPY), put (ours), put (to), put (from), put (Operand{ 0, size });
          }
        else
          {
            Operand v = is_number (TREE_TYPE (rhs)) ? value (rhs) : UNKNOWN_VALUE;
            put (STORE), put (size), put (ours), put (to), put (v);
          }
        return true;
      }
    bool number = is_number (type);
    if (gimple_assign_load_p (a))
      {
        if (!size_of (type, &size) || in_bits (rhs))
          return false;
        Operand from = address (rhs);
        put (LOAD), put (number ? register_of (lhs) : NONE), put (number ? kind_of (type) : 64), put (size);
        put (from);
        return true;
      }
    // Other memory than that is not read here.
    if (gimple_vuse (a))
      return false;
    if (!number)
      return true;
    Op op = get_gimple_rhs_class (code) == GIMPLE_SINGLE_RHS ? OP_COPY : op_of (code);
    tree other = gimple_num_ops (a) == 3 ? gimple_assign_rhs2 (a) : NULL_TREE;
    if (op == OP_NONE || gimple_num_ops (a) > 3 || !is_value (rhs) || !is_number (TREE_TYPE (rhs))
        || (other && !is_number (TREE_TYPE (other))))
      {
        put (FORGET), put (register_of (lhs));
        return true;
      }
    Operand x = value (rhs), y = other ? value (other) : UNKNOWN_VALUE;
    put (ASSIGN), put (op), put (register_of (lhs)), put (kind_of (type)), put (kind_of (TREE_TYPE (rhs)));
    put (x), put (y);
    return true;
  }

  bool forget (gcall *c)
  {
    tree lhs = gimple_call_lhs (c);
    if (lhs && TREE_CODE (lhs) != SSA_NAME)
      return false;
    if (lhs && is_number (TREE_TYPE (lhs)))
      put (FORGET), put (register_of (lhs));
    return true;
  }

  uint64_t result (gcall *c)
  {
    tree lhs = gimple_call_lhs (c);
    return lhs && is_number (TREE_TYPE (lhs)) ? register_of (lhs) : NONE;
  }

  bool called (gcall *c)
  {
    std::string name = callee_name (c);
    tree lhs = gimple_call_lhs (c), decl = gimple_call_fndecl (c);
    if ((lhs && TREE_CODE (lhs) != SSA_NAME) || gimple_call_chain (c)
        || (gimple_call_flags (c) & (ECF_NORETURN | ECF_RETURNS_TWICE)))
      return false;
    Function *f = unit_.called (c);
    if (region_of (c))
      {
        if (!f || name != "GOMP_parallel")
          return false;
        Operand data = value (gimple_call_arg (c, 1));
        put (REGION), calls_.push_back ({ words_.size (), { f->fn->decl, false } });
        put_offset (0), put (data);
        todo_.push_back ({ f->fn->decl, false });
        return true;
      }
    if (f)
      {
        std::vector<Operand> args;
        for (unsigned k = 0; k < gimple_call_num_args (c); k++)
          {
            tree a = gimple_call_arg (c, k);
            if (!is_value (a))
              return false;
            args.push_back (is_number (TREE_TYPE (a)) ? value (a) : UNKNOWN_VALUE);
          }
        put (CALL), calls_.push_back ({ words_.size (), { f->fn->decl, false } });
        put_offset (0), put (result (c)), put (args.size ());
        for (Operand a : args)
          put (a);
        todo_.push_back ({ f->fn->decl, false });
        return true;
      }
    bool ours = decl && DECL_EXTERNAL (decl);
    if (ours && !name.compare (0, 5, "GOMP_"))
      return construct (c, name);
    if (ours && (!name.compare (0, 8, "__promp_") || !name.compare (0, 8, "omp_get_")))
      return gimple_call_num_args (c) == 0 || !name.compare (0, 8, "__promp_") ? forget (c) : false;
    if (decl && gimple_call_builtin_p (c, BUILT_IN_NORMAL))
      {
        enum built_in_function b = DECL_FUNCTION_CODE (decl);
        if (b == BUILT_IN_MEMSET || b == BUILT_IN_MEMCPY || b == BUILT_IN_MEMMOVE)
          {
            tree p = gimple_call_arg (c, 0);
            uint64_t mine = is_ours (unit_.pointers.of (p));
            Operand to = value (p), x = value (gimple_call_arg (c, 1)), n = value (gimple_call_arg (c, 2));
            if (b == BUILT_IN_MEMSET)
              put (FILL), put (mine), put (to), put (n);
            else
              put (COPY), put (mine), put (to), put (x), put (n);
            if (result (c) != NONE)
              {
                put (ASSIGN), put (OP_COPY), put (result (c)), put (64), put (64);
                put (to), put (UNKNOWN_VALUE);
              }
            return true;
          }
        if (is_of_numbers (c) && (!gimple_vuse (c) || (lhs && SCALAR_FLOAT_TYPE_P (TREE_TYPE (lhs)))))
          return forget (c);
        return false;
      }
    return !gimple_vuse (c) && is_of_numbers (c) && forget (c);
  }

  /// A call of the runtime.
  bool construct (gcall *c, const std::string &name)
  {
    if (name == "GOMP_barrier")
      put (BARRIER);
    else if (name == "GOMP_loop_end" || name == "GOMP_loop_end_nowait")
      put (END), put (name == "GOMP_loop_end");
    else if (name == "GOMP_single_start")
      put (SINGLE), put (forced_result (c));
    else
      {
        bool is_start = false, is_next = false, chunked = false;
        for (const char *k : { "static", "dynamic", "guided", "nonmonotonic_dynamic", "nonmonotonic_guided",
                               "runtime", "nonmonotonic_runtime", "maybe_nonmonotonic_runtime" })
          {
            std::string n = std::string ("GOMP_loop_") + k;
            is_start = is_start || name == n + "_start";
            is_next = is_next || name == n + "_next";
            chunked = chunked || (name == n + "_start" && !strstr (k, "runtime"));
          }
        if (is_next)
          put (NEXT), put (forced_result (c));
        else if (is_start && gimple_call_num_args (c) == (chunked ? 6 : 5))
          {
            unsigned n = gimple_call_num_args (c);
            Operand all[5];
            unsigned of[5] = { 0, 1, 2, n - 2, n - 1 };
            for (unsigned k = 0; k < 5; k++)
              all[k] = value (gimple_call_arg (c, of[k]));
            put (START), put (forced_result (c));
            for (Operand o : all)
              put (o);
          }
        else
          return false;
      }
    return true;
  }

  uint64_t forced_result (gcall *c) { return result (c) == NONE ? count_++ : result (c); }

  /// The variables of a loop's header.
  struct Variable
  {
    gphi *phi;
    bool is_sum;
    HOST_WIDE_INT step;
    tree next;
  };

  std::vector<Variable> variables_of (class loop *l)
  {
    std::vector<Variable> all;
    for (gphi_iterator p = gsi_start_phis (l->header); !gsi_end_p (p); gsi_next (&p))
      {
        tree name = gimple_phi_result (p.phi ());
        if (virtual_operand_p (name) || !is_number (TREE_TYPE (name)))
          continue;
        Variable v = { p.phi (), false, 0, NULL_TREE };
        tree next = loop_latch_edge (l) ? PHI_ARG_DEF_FROM_EDGE (p.phi (), loop_latch_edge (l)) : NULL_TREE;
        gassign *a = next && TREE_CODE (next) == SSA_NAME ? dyn_cast<gassign *> (SSA_NAME_DEF_STMT (next))
                                                          : nullptr;
        if (a && gimple_num_ops (a) == 3 && gimple_assign_rhs1 (a) == name
            && tree_fits_poly_int64_p (fold_convert (ssizetype, gimple_assign_rhs2 (a)))
            && TREE_CODE (gimple_assign_rhs2 (a)) == INTEGER_CST
            && (gimple_assign_rhs_code (a) == PLUS_EXPR || gimple_assign_rhs_code (a) == POINTER_PLUS_EXPR))
          {
            v.is_sum = true;
            v.step = wi::to_wide (gimple_assign_rhs2 (a)).to_shwi ();
            v.next = next;
          }
        all.push_back (v);
      }
    return all;
  }

  struct Test
  {
    bool at_end;
    Op stays;
    tree type, other;
    gphi *phi;
    HOST_WIDE_INT plus;
    edge exit;
  };

  static bool touches_memory (basic_block bb, bool writes_only)
  {
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      if (gimple *s = gsi_stmt (i); !is_gimple_debug (s) && (writes_only ? gimple_vdef (s) : gimple_vuse (s)))
        return true;
    return false;
  }

  /// Can the loop be looked at as a whole?
  bool test_of (class loop *l, const std::vector<Variable> &variables, Test *t)
  {
    t->exit = single_exit (l);
    edge e;
    edge_iterator ei;
    basic_block at = t->exit ? t->exit->src : nullptr;
    gcond *test = at ? safe_dyn_cast<gcond *> (last_stmt (at)) : nullptr;
    if (!test || !loop_latch_edge (l) || !loop_preheader_edge (l) || at->loop_father != l)
      return false;
    t->at_end = at == l->latch;
    FOR_EACH_EDGE (e, ei, at->succs)
    if (e != t->exit && e->dest == l->latch && !touches_memory (l->latch, false) && single_pred_p (l->latch))
      t->at_end = true;
    if (!t->at_end && (at != l->header || touches_memory (at, true)))
      return false;
    enum tree_code stays = gimple_cond_code (test);
    tree low = gimple_cond_lhs (test), high = gimple_cond_rhs (test);
    if (!is_number (TREE_TYPE (low)))
      return false;
    if (t->exit->flags & EDGE_TRUE_VALUE)
      stays = invert_tree_comparison (stays, false);
    for (unsigned k = 0; k < 2; k++, std::swap (low, high), stays = swap_tree_comparison (stays))
      for (const Variable &v : variables)
        if (v.is_sum && (low == gimple_phi_result (v.phi) || low == v.next))
          {
            bool fixed = TREE_CODE (high) == INTEGER_CST
                         || (TREE_CODE (high) == SSA_NAME
                             && (SSA_NAME_IS_DEFAULT_DEF (high)
                                 || !flow_bb_inside_loop_p (l, gimple_bb (SSA_NAME_DEF_STMT (high)))));
            if (t->at_end && !fixed)
              return false;
            t->stays = op_of (stays), t->type = TREE_TYPE (low), t->other = high, t->phi = v.phi;
            t->plus = low == v.next && v.next != gimple_phi_result (v.phi) ? v.step : 0;
            return t->stays != OP_NONE;
          }
    return false;
  }

  /// Blocks and loops directly in `l`, in an order in which they are executed.
  void put_items (class loop *l, bool without_header)
  {
    size_t count = words_.size ();
    put (0);
    basic_block start = single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn_));
    bool root = l == current_loops->tree_root;
    for (basic_block bb : order_)
      {
        class loop *in = bb->loop_father;
        if (bb == l->header && without_header && !root)
          continue;
        bool is_loop = in != l && in->header == bb && loop_outer (in) == l;
        if (in != l && !is_loop)
          continue;
        bool sure = root ? dominated_by_p (CDI_POST_DOMINATORS, start, bb)
                         : dominated_by_p (CDI_DOMINATORS, l->latch, bb);
        uint64_t flags = (sure ? 2 : 0) | (is_loop ? 1 : 0);
        items_.push_back (words_.size ());
        if (is_loop)
          loop_items_.push_back ({ words_.size (), { in, flags } });
        else
          block_items_.push_back ({ words_.size (), { bb, flags } });
        put (0);
        words_[count]++;
      }
  }

  void put_block (basic_block bb)
  {
    blocks_[bb] = words_.size ();
    size_t code = words_.size ();
    put_offset (0);
    size_t count = words_.size ();
    put (0);
    class loop *l = bb->loop_father;
    bool is_header = l != current_loops->tree_root && l->header == bb;
    for (gphi_iterator p = gsi_start_phis (bb); !is_header && !gsi_end_p (p); gsi_next (&p))
      {
        tree name = gimple_phi_result (p.phi ());
        if (virtual_operand_p (name) || !is_number (TREE_TYPE (name)))
          continue;
        put (register_of (name)), put (gimple_phi_num_args (p.phi ()));
        for (unsigned k = 0; k < gimple_phi_num_args (p.phi ()); k++)
          put (argument (gimple_phi_arg_def (p.phi (), k)));
        words_[count]++;
      }
    words_[code] = words_.size ();
    if (entry_ && !call_ && bb == place_bb_)
      entry_code_ = words_.size ();
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      {
        gimple *s = gsi_stmt (i);
        if (gcond *t = dyn_cast<gcond *> (s))
          {
            tree x = gimple_cond_lhs (t), y = gimple_cond_rhs (t);
            bool number = is_number (TREE_TYPE (x));
            Operand a = number ? value (x) : UNKNOWN_VALUE, b = number ? value (y) : UNKNOWN_VALUE;
            Op op = op_of (gimple_cond_code (t));
            put (TEST), put (op), put (number ? kind_of (TREE_TYPE (x)) : 64), put (a), put (b);
            edge yes, no;
            extract_true_false_edges_from_block (bb, &yes, &no);
            put_edge (yes), put_edge (no);
            return;
          }
        if (greturn *r = dyn_cast<greturn *> (s))
          {
            tree v = gimple_return_retval (r);
            Operand o = v && is_value (v) && is_number (TREE_TYPE (v)) ? value (v) : UNKNOWN_VALUE;
            put (RETURN), put (o);
            returns_++;
            return;
          }
        if (entry_ && s == call_)
          {
            entry_code_ = words_.size ();
            continue;
          }
        // What is behind a STOP is not reached; the place may be.
        if (!statement (s))
          put (STOP);
      }
    if (single_succ_p (bb) && !(single_succ_edge (bb)->flags & (EDGE_ABNORMAL | EDGE_EH))
        && single_succ (bb) != EXIT_BLOCK_PTR_FOR_FN (fn_))
      put (JUMP), put_edge (single_succ_edge (bb));
    else
      put (STOP);
  }

  /// A value of a PHI: only what needs no instructions.
  Operand argument (tree t)
  {
    if (TREE_CODE (t) != ADDR_EXPR)
      return simple (t);
    poly_int64 off;
    HOST_WIDE_INT at;
    tree base = get_addr_base_and_unit_offset (TREE_OPERAND (t, 0), &off);
    return base && VAR_P (base) && off.is_constant (&at) && at == 0 ? address_of (base, 0) : UNKNOWN_VALUE;
  }

  void put_edge (edge e)
  {
    edges_.push_back ({ words_.size (), e });
    put_offset (0);
  }

  void put_loop (class loop *l)
  {
    std::vector<Variable> variables = variables_of (l);
    Test t = { false, OP_COPY, sizetype, NULL_TREE, nullptr, 0, nullptr };
    bool whole = test_of (l, variables, &t);
    loops_[l] = words_.size ();
    put (whole);
    headers_.push_back ({ words_.size (), l->header });
    put_offset (0);
    put (t.at_end), put (t.stays), put (kind_of (t.type));
    put (whole ? register_of (gimple_phi_result (t.phi)) : 0), put (t.plus);
    put (whole ? simple (t.other) : UNKNOWN_VALUE);
    if (whole)
      put_edge (t.exit);
    else
      put (0);
    put (variables.size ());
    for (const Variable &v : variables)
      {
        tree type = TREE_TYPE (gimple_phi_result (v.phi));
        put (register_of (gimple_phi_result (v.phi))), put (v.is_sum && whole);
        put (whole ? argument (PHI_ARG_DEF_FROM_EDGE (v.phi, loop_preheader_edge (l))) : UNKNOWN_VALUE);
        put (v.step), put (kind_of (type));
      }
    put_items (l, !t.at_end);
  }

  void put_edges ()
  {
    for (auto &p : edges_)
      {
        edge e = p.second;
        words_[p.first] = words_.size ();
        headers_.push_back ({ words_.size (), e->dest });
        put_offset (0);
        class loop *l = e->dest->loop_father;
        bool enters = l != current_loops->tree_root && l->header == e->dest
                      && !flow_bb_inside_loop_p (l, e->src);
        if (enters)
          put_offset (loops_.at (l));
        else
          put (0);
        size_t count = words_.size ();
        put (0);
        for (gphi_iterator i = gsi_start_phis (e->dest); !gsi_end_p (i); gsi_next (&i))
          {
            tree name = gimple_phi_result (i.phi ());
            if (virtual_operand_p (name) || !is_number (TREE_TYPE (name)))
              continue;
            put (register_of (name)), put (argument (PHI_ARG_DEF_FROM_EDGE (i.phi (), e)));
            words_[count]++;
          }
      }
  }

  /// Is the name defined where the place is?
  bool is_known_at_place (tree name)
  {
    if (SSA_NAME_OCCURS_IN_ABNORMAL_PHI (name))
      return false;
    gimple *def = SSA_NAME_DEF_STMT (name);
    if (SSA_NAME_IS_DEFAULT_DEF (name))
      return SSA_NAME_VAR (name) && TREE_CODE (SSA_NAME_VAR (name)) == PARM_DECL;
    basic_block bb = gimple_bb (def);
    if (bb != place_bb_)
      return dominated_by_p (CDI_DOMINATORS, place_bb_, bb);
    if (gimple_code (def) == GIMPLE_PHI)
      return true;
    for (gimple_stmt_iterator i = gsi_start_bb (bb); call_ && !gsi_end_p (i) && gsi_stmt (i) != call_;
         gsi_next (&i))
      if (gsi_stmt (i) == def)
        return true;
    return false;
  }

  void body (Function &f, bool entry)
  {
    fn_ = f.fn, entry_ = entry, count_ = 0, bytes_ = 0, returns_ = 0;
    registers_.clear (), locals_.clear (), pointed_.clear (), blocks_.clear (), loops_.clear ();
    edges_.clear (), headers_.clear (), block_items_.clear (), loop_items_.clear (), order_.clear ();
    push_cfun (fn_);
    calculate_dominance_info (CDI_DOMINATORS);
    loop_optimizer_init (LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
    calculate_dominance_info (CDI_POST_DOMINATORS);
    std::vector<int> rpo (n_basic_blocks_for_fn (fn_));
    int n = pre_and_rev_post_order_compute_fn (fn_, nullptr, rpo.data (), false);
    for (int k = 0; k < n; k++)
      order_.push_back (BASIC_BLOCK_FOR_FN (fn_, rpo[k]));
    for (basic_block bb : order_)
      put_block (bb);
    for (auto l : loops_list (fn_, 0))
      put_loop (l);
    put_edges ();
    for (auto &h : headers_)
      words_[h.first] = blocks_.at (h.second);
    // The function itself.
    std::vector<uint64_t> parameters;
    for (tree p = DECL_ARGUMENTS (fn_->decl); p; p = DECL_CHAIN (p))
      {
        tree name = is_gimple_reg (p) ? ssa_default_def (fn_, p) : NULL_TREE;
        parameters.push_back (name && is_number (TREE_TYPE (name)) ? register_of (name) : NONE);
      }
    records_[{ fn_->decl, entry }] = words_.size ();
    size_t registers = words_.size ();
    put (0), put (bytes_), put (parameters.size ());
    put_offset (blocks_.at (single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn_))));
    put (returns_ == 1);
    for (uint64_t p : parameters)
      put (p);
    put_items (current_loops->tree_root, false);
    for (auto &i : block_items_)
      words_[i.first] = blocks_.at (i.second.first) << 2 | i.second.second;
    for (auto &i : loop_items_)
      words_[i.first] = loops_.at (i.second.first) << 2 | i.second.second;
    if (entry)
      for (auto &r : registers_)
        if (is_known_at_place (r.first))
          held_.push_back ({ slot (r.first), r.second });
    words_[registers] = count_;
    free_dominance_info (CDI_POST_DOMINATORS);
    loop_optimizer_finalize ();
    pop_cfun ();
  }

  Unit &unit_;
  Function &place_;
  basic_block place_bb_;
  gimple *call_;
  std::vector<uint64_t> words_;
  std::vector<tree> slots_;
  std::vector<std::pair<uint64_t, uint64_t>> held_; ///< slots of registers
  std::vector<size_t> offsets_, items_;             ///< words that are offsets, and items
  std::vector<std::pair<size_t, std::pair<tree, bool>>> calls_;
  std::map<std::pair<tree, bool>, size_t> records_;
  std::vector<std::pair<tree, bool>> todo_;
  size_t entry_code_ = 0;
  // Of the function that is written.
  function *fn_ = nullptr;
  bool entry_ = false;
  uint64_t count_ = 0;
  HOST_WIDE_INT bytes_ = 0;
  unsigned returns_ = 0;
  std::map<tree, uint64_t> registers_;
  std::map<tree, HOST_WIDE_INT> locals_;
  std::set<unsigned> pointed_;
  std::vector<basic_block> order_;
  std::map<basic_block, size_t> blocks_;
  std::map<class loop *, size_t> loops_;
  std::vector<std::pair<size_t, edge>> edges_;
  std::vector<std::pair<size_t, basic_block>> headers_;
  std::vector<std::pair<size_t, std::pair<basic_block, uint64_t>>> block_items_;
  std::vector<std::pair<size_t, std::pair<class loop *, uint64_t>>> loop_items_;
};

} // namespace

bool foresee (Unit &unit, Function &f, basic_block bb, gimple *call, Foresight *out)
{
  return Writer (unit, f, bb, call).run (out);
}

} // namespace promp
