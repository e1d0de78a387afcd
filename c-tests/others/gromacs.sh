#!/usr/bin/env bash
# A short molecular dynamics run of a box of water with GROMACS, in the current folder; prints the final state's checksum and
# the energies. `prepare` makes the input, `run N` runs it with N threads.
set -euo pipefail
if [ "$1" = prepare ]; then
    gmx -quiet solvate -cs spc216.gro -box 2.2 2.2 2.2 -o box.gro
    printf '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spce.itp"\n[ system ]\nwater\n[ molecules ]\nSOL %s\n' "$(grep -c OW box.gro)" >topol.top
    cat >md.mdp <<'T'
integrator = md
nsteps = 300
dt = 0.002
nstenergy = 50
nstlog = 50
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
constraints = h-bonds
gen-vel = yes
gen-seed = 7
gen-temp = 300
tcoupl = v-rescale
tc-grps = System
tau-t = 0.5
ref-t = 300
ld-seed = 3
T
    gmx -quiet grompp -f md.mdp -c box.gro -p topol.top -o md.tpr -maxwarn 5
else
    rm -f md.gro md.log
    gmx -quiet mdrun -s md.tpr -ntmpi 1 -ntomp "$2" -reprod -pin off -deffnm md
    cksum <md.gro
    grep -A1 -E "^ +(Potential|Pressure|Total Energy|Temperature|Kinetic En)" md.log
fi
