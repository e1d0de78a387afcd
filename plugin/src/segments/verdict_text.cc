// What is said of a segment.

#include "segments/verdict_text.h"

namespace promp {

const char *construct (gimple *site)
{
  if (!site)
    return "region";
  const char *n = callee_name (site);
  return strstr (n, "loop")      ? "loop"
         : strstr (n, "section") ? "sections"
         : strstr (n, "single")  ? "single"
                                 : n;
}

std::string source_name (function *fn)
{
  std::string s = DECL_NAME (fn->decl) ? IDENTIFIER_POINTER (DECL_NAME (fn->decl)) : "?";
  return s.substr (0, s.find ("._omp"));
}

bool is_reported (gimple *site, const std::vector<gimple *> &calls)
{
  if (!site)
    return true;
  if (!strcmp (callee_name (site), "GOMP_sections_next") || strstr (callee_name (site), "dynamic_next")
      || strstr (callee_name (site), "guided_next") || strstr (callee_name (site), "runtime_next"))
    {
      for (gimple *c : calls)
        if (strstr (callee_name (c), "_start"))
          return false;
      return true;
    }
  const char *n = callee_name (site);
  return strstr (n, "_start") || strstr (n, "_barrier");
}

location_t location_of (const Segment &s, function *fn)
{
  location_t best = s.site ? gimple_location (s.site) : DECL_SOURCE_LOCATION (fn->decl);
  for (const Node &n : s.nodes)
    for (gimple_stmt_iterator i = n.first; !gsi_end_p (i) && LOCATION_LINE (best) <= 0; gsi_next (&i))
      if (!is_gimple_debug (gsi_stmt (i)))
        best = gimple_location (gsi_stmt (i));
  return best;
}

std::string describe (const Segment &s, const Memory &memory)
{
  auto what = [&] (unsigned access) {
    return memory.name (memory.places ()[s.accesses[access].place].object);
  };
  switch (s.verdict.verdict)
    {
    case VERDICT_IDEMPOTENT:
      return "idempotent";
    case VERDICT_UNDO:
      {
        std::string r = what (s.verdict.read), w = what (s.verdict.write);
        // None for what the compiler has moved out of a loop.
        unsigned line = s.accesses[s.verdict.write].line;
        if (s.accesses[s.verdict.write].flags & ACCESS_ADDS)
          return "undo: " + w + " is added to" + (line ? " at line " + std::to_string (line) : "");
        return "undo: " + (r == w ? w + " is read and written" : r + " may alias " + w)
               + (line ? " at line " + std::to_string (line) : "");
      }
    default:
      return std::string ("opaque: ") + s.verdict.why
             + (s.verdict.line ? " at line " + std::to_string (s.verdict.line) : "");
    }
}

std::string why_untold (const Segment &s, const Memory &memory, const Undo &tell)
{
  if (!s.effects.empty ())
    return s.effects[0].what;
  if (!s.foreign.empty ())
    return "it calls functions of other files";
  if (!s.parts.empty ())
    return s.parts;
  if (s.allocates)
    return "it allocates memory";
  for (size_t i = 0; i < s.accesses.size (); i++)
    if ((s.accesses[i].flags & ACCESS_ATOMIC)
        || ((s.accesses[i].flags & ACCESS_WRITES) && !tell.can (s.statements[i])))
      return "what is written to " + memory.name (memory.places ()[s.accesses[i].place].object)
             + (s.accesses[i].line ? " at line " + std::to_string (s.accesses[i].line) : "")
             + (tell.is_too_expensive (s.statements[i])
                  ? " can be told one by one only (-fpromp-elements does it)"
                  : " is not known");
  return "";
}

} // namespace promp
