// Programs that ask for the number of threads, and only show it (docs/internals/restart-elsewhere.md).
//
// A restart with another number of threads is right only if nothing in the program's memory depends on the
// number. So each call that asks for it is followed, from the value on, through what is computed from it,
// variables (uses.h), parameters and results of functions, and through what is decided by it: what is
// written, called or computed on one of the ways only depends on the value, too. If all of that ends in
// output (shown.h) or in the num_threads of a region, the value is shown only. Everything else (memory of
// unknown kind, an address to write to, an argument of an unknown function) is told by the first that is
// found.
//
// Whether the thread's number is 0 is no secret of the team's size: there is one such thread in each.
//
// A call whose value is shown only is made a call of another function of the runtime's, which notes nothing
// (promp_shown_...). It stays one whatever inlining, unrolling or link-time optimisation make of it.

#include "checkpoints/taint.h"
#include "cgraph.h"
#include "diagnostic-core.h"
#include "internal-fn.h"
#include "langhooks.h"
#include "memory/pointers.h"
#include "memory/memory.h"
#include "segments/shown.h"
#include "ssa.h"
#include "segments/tables.h"
#include "tree-dfa.h"
#include "tree-into-ssa.h"
#include <set>

namespace promp {
namespace {

/// On the way back from a function's end: the next block that every way from a block comes to.
class Meeting
{
public:
  explicit Meeting (function *fn) : fn_ (fn)
  {
    // Blocks in the order in which they are left on the way back, the function's end last.
    basic_block end = EXIT_BLOCK_PTR_FOR_FN (fn), bb;
    FOR_EACH_BB_FN (bb, fn)
      for (basic_block to : behind (bb))
        before_[to].push_back (bb);
    number (end);
    next_[end] = end;
    for (bool changed = true; changed;)
      {
        changed = false;
        for (auto i = order_.rbegin (); i != order_.rend (); ++i)
          {
            if (*i == end)
              continue;
            basic_block meet = nullptr;
            for (basic_block to : behind (*i))
              if (next_.count (to))
                meet = meet ? common (meet, to) : to;
            if (next_[*i] != meet)
              {
                next_[*i] = meet;
                changed = true;
              }
          }
      }
  }

  /// Null: there is none but the end, if any.
  basic_block behind_all (basic_block bb)
  {
    auto n = next_.find (bb);
    return n == next_.end () || n->second == EXIT_BLOCK_PTR_FOR_FN (fn_) ? nullptr : n->second;
  }

  /// Where control may go from it; not as an exception, nor where calls do not return.
  std::vector<basic_block> behind (basic_block bb)
  {
    std::vector<basic_block> to;
    edge e;
    edge_iterator ei;
    FOR_EACH_EDGE (e, ei, bb->succs)
      if (!(e->flags & (EDGE_EH | EDGE_FAKE)))
        to.push_back (e->dest);
    // It ends there, or for ever: that is a way out.
    if (to.empty () && bb != EXIT_BLOCK_PTR_FOR_FN (fn_))
      to.push_back (EXIT_BLOCK_PTR_FOR_FN (fn_));
    return to;
  }

  /// Gives the blocks behind `from`, up to `meet`, to `f`.
  template <class Each> void between (basic_block from, basic_block meet, Each f)
  {
    std::set<basic_block> seen;
    std::vector<basic_block> todo = behind (from);
    while (!todo.empty ())
      {
        basic_block bb = todo.back ();
        todo.pop_back ();
        if (bb == meet || bb == EXIT_BLOCK_PTR_FOR_FN (fn_) || !seen.insert (bb).second)
          continue;
        f (bb);
        for (basic_block to : behind (bb))
          todo.push_back (to);
      }
  }

private:
  void number (basic_block from)
  {
    std::vector<std::pair<basic_block, size_t>> stack = { { from, 0 } };
    std::set<basic_block> seen = { from };
    while (!stack.empty ())
      {
        auto &top = stack.back ();
        std::vector<basic_block> &to = before_[top.first];
        if (top.second < to.size ())
          {
            basic_block next = to[top.second++];
            if (seen.insert (next).second)
              stack.push_back ({ next, 0 });
          }
        else
          {
            place_[top.first] = order_.size ();
            order_.push_back (top.first);
            stack.pop_back ();
          }
      }
  }

  basic_block common (basic_block a, basic_block b)
  {
    while (a != b)
      {
        while (place_[a] < place_[b])
          a = next_[a];
        while (place_[b] < place_[a])
          b = next_[b];
      }
    return a;
  }

  function *fn_;
  std::map<basic_block, std::vector<basic_block>> before_;
  std::map<basic_block, size_t> place_;
  std::vector<basic_block> order_;
  std::map<basic_block, basic_block> next_;
};

std::string name (tree t)
{
  tree base = t;
  while (handled_component_p (base) || TREE_CODE (base) == MEM_REF || TREE_CODE (base) == ADDR_EXPR)
    base = TREE_OPERAND (base, 0);
  if (TREE_CODE (base) == SSA_NAME)
    base = SSA_NAME_VAR (base);
  bool named = base && DECL_P (base) && DECL_NAME (base) && !DECL_ARTIFICIAL (base);
  return named ? IDENTIFIER_POINTER (DECL_NAME (base)) : "memory";
}

std::string callee (gcall *c)
{
  tree d = gimple_call_fndecl (c);
  if (gimple_call_internal_p (c))
    return internal_fn_name (gimple_call_internal_fn (c));
  return d ? lang_hooks.decl_printable_name (d, 1) : "a function by its address";
}

/// Is it one of the comparisons with 0 that all teams have the same answers to?
bool is_test_for_zero (tree_code code, tree a, tree b)
{
  return (code == EQ_EXPR || code == NE_EXPR || code == GT_EXPR || code == LE_EXPR) && a
         && TREE_CODE (a) == SSA_NAME && b && integer_zerop (b);
}

/// Where the value of one call goes.
class Flow
{
public:
  Flow (const Uses &uses, function *fn, gcall *call) : uses_ (uses)
  {
    is_number_of_thread_ = !strcmp (asked_routine (call), "omp_get_thread_num");
    if (tree to = gimple_call_lhs (call))
      {
        if (is_number_of_thread_)
          numbers_.insert (to);
        written (fn, call, to);
      }
    while (!values_.empty () && why.empty ())
      {
        auto v = values_.back ();
        values_.pop_back ();
        imm_use_iterator i;
        use_operand_p use;
        FOR_EACH_IMM_USE_FAST (use, i, v.second)
          through (v.first, USE_STMT (use), v.second);
      }
  }

  std::string why; ///< it is not shown only
  location_t where = UNKNOWN_LOCATION;

private:
  void no (gimple *s, const std::string &what)
  {
    if (!why.empty ())
      return;
    why = what;
    where = s ? gimple_location (s) : UNKNOWN_LOCATION;
  }

  /// The value of `ssa` depends on it.
  void value (function *fn, tree ssa)
  {
    if (virtual_operand_p (ssa) || !why.empty ())
      return;
    if (seen_.insert (ssa).second)
      values_.push_back ({ fn, ssa });
  }

  /// What `m` holds depends on it.
  void memory (gimple *s, tree m)
  {
    if (!uses_.is_followed (m))
      return no (s, "is stored in " + name (m));
    if (!seen_.insert (m).second)
      return;
    for (const Named &u : uses_.of (m))
      switch (u.kind)
        {
        case Named::STORE:
          break;
        case Named::LOAD:
          through (u.fn, u.stmt, NULL_TREE);
          break;
        case Named::ADDRESS:
          if (!u.stmt || !is_gimple_call (u.stmt) || !shows (uses_, as_a<gcall *> (u.stmt)))
            return no (u.stmt ? u.stmt : s, "is stored in " + name (m) + ", whose address is taken");
          // What is told of the output depends on it.
          if (tree to = gimple_call_lhs (u.stmt))
            written (u.fn, u.stmt, to);
        }
  }

  /// `s` writes to `to` what depends on it.
  void written (function *fn, gimple *s, tree to)
  {
    if (TREE_CODE (to) == SSA_NAME)
      return value (fn, to);
    if (tree m = named_by (to))
      memory (s, m);
    else
      no (s, "is stored in " + name (to));
  }

  /// `s` uses what depends on it: `used`, or what it reads in memory (null).
  void through (function *fn, gimple *s, tree used)
  {
    if (!why.empty () || is_gimple_debug (s))
      return;
    if (gphi *p = dyn_cast<gphi *> (s))
      return value (fn, gimple_phi_result (p));
    if (gassign *a = dyn_cast<gassign *> (s))
      {
        if (gimple_clobber_p (a))
          return;
        tree to = gimple_assign_lhs (a);
        if (used && TREE_CODE (to) != SSA_NAME && mentions (to, used))
          return no (s, "decides where " + name (to) + " is written");
        if (used && numbers_.count (used))
          {
            if (is_test_for_zero (gimple_assign_rhs_code (a), gimple_assign_rhs1 (a), gimple_assign_rhs2 (a)))
              return;
            bool copy = gimple_assign_ssa_name_copy_p (a) || CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a));
            tree type = TREE_TYPE (to);
            if (copy && INTEGRAL_TYPE_P (type) && TYPE_PRECISION (type) >= TYPE_PRECISION (TREE_TYPE (used)))
              numbers_.insert (to);
          }
        return written (fn, s, to);
      }
    if (gcond *c = dyn_cast<gcond *> (s))
      {
        bool zero = used && numbers_.count (used)
                    && is_test_for_zero (gimple_cond_code (c), gimple_cond_lhs (c), gimple_cond_rhs (c));
        return zero ? (void)0 : behind (fn, gimple_bb (s));
      }
    if (is_a<gswitch *> (s))
      return behind (fn, gimple_bb (s));
    if (is_a<greturn *> (s))
      return returned (fn, s);
    if (gcall *c = dyn_cast<gcall *> (s))
      return argument (fn, c, used);
    no (s, gimple_code (s) == GIMPLE_ASM ? "gets into assembler code" : "is used where it is not followed");
  }

  void argument (function *fn, gcall *c, tree used)
  {
    tree to = gimple_call_lhs (c);
    unsigned count = gimple_call_num_args (c);
    if (used && ((to && TREE_CODE (to) != SSA_NAME && mentions (to, used)) || gimple_call_fn (c) == used
                 || gimple_call_chain (c) == used))
      return no (c, "decides what is called or written");
    auto depends = [&] (unsigned k) {
      tree a = gimple_call_arg (c, k);
      return used ? mentions (a, used) : !is_value (a);
    };
    if (shows (uses_, c))
      {
        if (to && !returns_stream (c))
          written (fn, c, to);
        return;
      }
    if (region_of (c))
      {
        for (unsigned k = 0; k < count; k++)
          if (depends (k) && k != 2)
            return no (c, "gets into an argument of " + callee (c));
        return;
      }
    if (gimple_call_flags (c) & ECF_CONST && !gimple_vuse (c))
      return to ? written (fn, c, to) : (void)0;
    tree decl = gimple_call_fndecl (c);
    function *body = decl ? uses_.body (decl) : nullptr;
    if (!body || !used)
      return no (c, "gets into an argument of " + callee (c));
    tree p = DECL_ARGUMENTS (decl);
    for (unsigned k = 0; k < count; k++, p = p ? DECL_CHAIN (p) : p)
      if (depends (k))
        {
          if (!p || gimple_call_arg (c, k) != used)
            return no (c, "gets into an argument of " + callee (c));
          if (!is_gimple_reg (p))
            memory (c, p);
          else if (tree d = ssa_default_def (body, p))
            value (body, d);
        }
  }

  void returned (function *fn, gimple *s)
  {
    if (!seen_.insert (fn->decl).second)
      return;
    auto calls = uses_.calls_of (fn->decl);
    if (!calls)
      return no (s, std::string ("is returned by ") + lang_hooks.decl_printable_name (fn->decl, 1));
    for (auto &c : *calls)
      if (tree to = gimple_call_lhs (c.second))
        written (c.first, c.second, to);
  }

  /// Where control goes at the end of `from` depends on it.
  void behind (function *fn, basic_block from)
  {
    if (!branches_.insert (from).second)
      return;
    auto m = meetings_.find (fn);
    if (m == meetings_.end ())
      m = meetings_.insert ({ fn, Meeting (fn) }).first;
    basic_block meet = m->second.behind_all (from);
    m->second.between (from, meet, [&] (basic_block bb) { decided (fn, bb); });
    if (meet)
      for (gphi_iterator p = gsi_start_phis (meet); !gsi_end_p (p); gsi_next (&p))
        value (fn, gimple_phi_result (p.phi ()));
  }

  /// Whether, or how often, the block is executed depends on it.
  void decided (function *fn, basic_block bb)
  {
    if (!decided_.insert (bb).second)
      return;
    for (gphi_iterator p = gsi_start_phis (bb); !gsi_end_p (p); gsi_next (&p))
      value (fn, gimple_phi_result (p.phi ()));
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i) && why.empty (); gsi_next (&i))
      {
        gimple *s = gsi_stmt (i);
        if (is_gimple_debug (s) || gimple_clobber_p (s))
          continue;
        switch (gimple_code (s))
          {
          case GIMPLE_ASSIGN:
            written (fn, s, gimple_assign_lhs (s));
            break;
          case GIMPLE_CALL:
            {
              gcall *c = as_a<gcall *> (s);
              bool computes = gimple_call_flags (c) & ECF_CONST && !(gimple_call_flags (c) & ECF_NORETURN);
              bool harmless = shows (uses_, c) || computes || asked_routine (c);
              function *body = harmless ? nullptr : uses_.body (gimple_call_fndecl (c));
              if (!harmless && !body)
                return no (s, "decides whether " + callee (c) + " is called");
              basic_block in;
              if (body)
                FOR_EACH_BB_FN (in, body)
                  decided (body, in);
              if (tree to = gimple_call_lhs (c))
                written (fn, s, to);
              break;
            }
          case GIMPLE_RETURN:
            if (gimple_return_retval (as_a<greturn *> (s)))
              returned (fn, s);
            break;
          case GIMPLE_COND:
          case GIMPLE_SWITCH:
          case GIMPLE_LABEL:
          case GIMPLE_NOP:
          case GIMPLE_PREDICT:
            break;
          default:
            return no (s, "decides what is executed");
          }
      }
  }

  const Uses &uses_;
  bool is_number_of_thread_ = false;
  std::set<tree> numbers_; ///< names of the thread's number itself
  std::set<tree> seen_;    ///< values, memory, functions by what they return
  std::set<basic_block> branches_, decided_;
  std::vector<std::pair<function *, tree>> values_;
  std::map<function *, Meeting> meetings_;
};

const pass_data DATA = { SIMPLE_IPA_PASS, "promp_shown", OPTGROUP_OMP, TV_NONE, PROP_ssa, 0, 0, 0, 0 };

struct Shown : simple_ipa_opt_pass
{
  Shown () : simple_ipa_opt_pass (DATA, g) {}
  bool gate (function *) final override { return flag_openmp && !in_lto_p && !seen_error (); }

  unsigned execute (function *) final override
  {
    Uses uses;
    std::map<function *, std::vector<gcall *>> shown;
    for (auto &a : uses.asking ())
      {
        Flow flow (uses, a.first, a.second);
        if (flow.why.empty ())
          shown[a.first].push_back (a.second);
        if (options.report)
          report (a.second, flow);
      }
    for (auto &s : shown)
      ask_otherwise (s.first, s.second);
    return 0;
  }

  static void report (gcall *call, const Flow &flow)
  {
    expanded_location at = expand_location (flow.where);
    bool known = flow.where != UNKNOWN_LOCATION && at.line;
    std::string line = known ? " (line " + std::to_string (at.line) + ")" : "";
    std::string text = flow.why.empty () ? "its value is shown only" : "its value " + flow.why + line;
    inform (gimple_location (call), "promp: %s: %s", asked_routine (call), text.c_str ());
  }

  static void ask_otherwise (function *fn, const std::vector<gcall *> &calls)
  {
    push_cfun (fn);
    for (gcall *c : calls)
      {
        tree decl = shown_function (asked_routine (c) + strlen ("omp_get_"));
        if (cgraph_edge *e = cgraph_node::get (fn->decl)->get_edge (c))
          e->redirect_callee (cgraph_node::get_create (decl));
        gimple_call_set_fndecl (c, decl);
        gimple_call_set_fntype (c, TREE_TYPE (decl));
        update_stmt (c);
      }
    mark_virtual_operands_for_renaming (fn);
    update_ssa (TODO_update_ssa_only_virtuals);
    pop_cfun ();
  }
};

const pass_data AGAIN
  = { GIMPLE_PASS, "promp_shown_again", OPTGROUP_OMP, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0 };

struct Again : gimple_opt_pass
{
  Again () : gimple_opt_pass (AGAIN, g) {}
  bool gate (function *) final override { return in_lto_p; }

  unsigned execute (function *fn) final override
  {
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        note_shown (gsi_stmt (i));
    return 0;
  }
};

} // namespace

simple_ipa_opt_pass *make_shown_pass () { return new Shown; }
opt_pass *make_shown_again_pass () { return new Again; }

} // namespace promp
