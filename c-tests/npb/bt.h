/* The constants of NPB's BT (NAS reports RNR-94-007, chapter 3, and NAS-95-020): the exact solution, the
   coefficients of the Navier-Stokes equations, and the classes with the values that verify their results. */
#ifndef NPB_BT_H
#define NPB_BT_H

/* The exact solution: for each field 1, then x, y, z in the first to the fourth power. */
static const double ce[5][13] = {
    {2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
    {1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
};

/* Gas and viscosity; c3c4 and c1345 are their products, con43 the factor of the stress along the flow. */
static const double c1 = 1.4, c2 = 0.4, c3c4 = 0.1, c1345 = 1.4 * 1.4 * 0.1, con43 = 4.0 / 3.0;

/* The second-order dissipation along x, y and z, and the fourth-order one of all. */
static const double second[3] = {0.75, 0.75, 1.0}, fourth = 0.25;

/* A class: points along an edge, steps, time of a step, and norms of the residual and of the error. */
typedef struct { char name; int n, steps; double dt, residual[5], error[5]; } Class;
static const Class classes[] = {
    {'S', 12, 60, 0.010,
     {1.7034283709541311e-01, 1.2975252070034097e-02, 3.2527926989486055e-02, 2.6436421275166801e-02,
      1.9211784131744430e-01},
     {4.9976913345811579e-04, 4.5195666782961927e-05, 7.3973765172921357e-05, 7.3821238632439731e-05,
      8.9269630987491446e-04}},
    {'W', 24, 200, 0.0008,
     {1.125590409344e+02, 1.180007595731e+01, 2.710329767846e+01, 2.469174937669e+01, 2.638427874317e+02},
     {4.419655736008e+00, 4.638531260002e-01, 1.011551749967e+00, 9.235878729944e-01, 1.018045837718e+01}},
    {'A', 64, 200, 0.0008,
     {1.0806346714637264e+02, 1.1319730901220813e+01, 2.5974354511582465e+01, 2.3665622544678910e+01,
      2.5278963211748344e+02},
     {4.2348416040525025e+00, 4.4390282496995698e-01, 9.6692480136345650e-01, 8.8302063039765474e-01,
      9.7379901770829278e+00}},
    {'B', 102, 200, 0.0003,
     {1.4233597229287254e+03, 9.9330522590150238e+01, 3.5646025644535285e+02, 3.2485447959084092e+02,
      3.2707541254659363e+03},
     {5.2969847140936856e+01, 4.4632896115670668e+00, 1.3122573342210174e+01, 1.2006925323559144e+01,
      1.2459576151035986e+02}},
};
#endif
